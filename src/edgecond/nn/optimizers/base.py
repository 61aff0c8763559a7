"""The interface of optimizers: settings, the torch optimizer they build, and the state that a checkpoint holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TYPE_CHECKING

if TYPE_CHECKING:  # recipes list optimizers, and must not wait for torch
    import torch
    from torch import nn, Tensor


@dataclass(frozen=True)
class Optimizer(ABC):
    """Settings of an optimizer, as the fields of a dataclass, each with its default.

    Attributes:
        name: Name in recipes.
        default_learning_rate: Learning rate of a recipe that gives none.
        state_names: Tensors that the optimizer keeps for each parameter: name in a checkpoint, and name in torch.
    """

    name: ClassVar[str]
    default_learning_rate: ClassVar[float]
    state_names: ClassVar[Mapping[str, str]]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each setting."""
        return {field.name: field.default for field in fields(cls)}

    @abstractmethod
    def build(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
        """Build the torch optimizer of these parameters."""

    def state(self, optimizer: torch.optim.Optimizer, network: nn.Module) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint must hold, named `STATE.PARAMETER`; none before the first step."""
        return {
            f"{name}.{parameter_name}": value
            for parameter_name, parameter in network.named_parameters()
            for name, torch_name in self.state_names.items()
            if (value := optimizer.state[parameter].get(torch_name)) is not None
        }

    def check_state(self, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
        """Check that the tensors of a checkpoint are those of this optimizer and network: torch does not."""
        known: set[str] = set()
        for parameter_name, parameter in network.named_parameters():
            state = {f"{name}.{parameter_name}": torch_name for name, torch_name in self.state_names.items()}
            known |= state.keys()
            given = [name for name in state if name in tensors]
            if given and len(given) < len(state):
                raise ValueError(f"the state of {parameter_name} must be {', '.join(state)}: found {', '.join(given)}.")
            for name in given:
                counter = state[name] == "step"  # in single precision, whatever that of the network is
                shape, dtype = ((), tensors[name].dtype) if counter else (tuple(parameter.shape), parameter.dtype)
                if (tuple(tensors[name].shape), tensors[name].dtype) != (shape, dtype):
                    raise ValueError(
                        f"the tensor {name} must be {shape} of {dtype}: "
                        f"found {tuple(tensors[name].shape)} of {tensors[name].dtype}."
                    )
        if surplus := [name for name in tensors if name not in known]:
            raise ValueError(f"the tensor {surplus[0][:60]!r} is not one of {self.name}.")

    def restore(self, optimizer: torch.optim.Optimizer, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
        """Put the tensors of a checkpoint back into the torch optimizer."""
        for parameter_name, parameter in network.named_parameters():
            for name, torch_name in self.state_names.items():
                value = tensors.get(f"{name}.{parameter_name}")
                if value is not None:
                    optimizer.state[parameter][torch_name] = value.to(parameter.device).clone()

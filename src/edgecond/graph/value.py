"""Immutable values made of tensors, which move between devices and are pytrees for torch.compile and torch.export."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform, Self, TypeVar

import torch
import torch.utils._pytree as pytree
from torch import Tensor

T = TypeVar("T")


class Movable:
    """A value whose tensors, including those of nested values, change device or precision together."""

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return the value on another device, or with its floating-point tensors in another precision."""
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)

        def move(tensor: Tensor) -> Tensor:
            converts = dtype is not None and tensor.is_floating_point()
            return tensor.to(device, dtype if converts else tensor.dtype, non_blocking)

        return self._map(move)

    def pin_memory(self) -> Self:
        """Return the value in page-locked memory, from which copies to a GPU are asynchronous."""
        return self._map(Tensor.pin_memory)

    def _map(self, function: Callable[[Tensor], Tensor]) -> Self:
        leaves, structure = pytree.tree_flatten(self)
        mapped = [function(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        if all(new is old for new, old in zip(mapped, leaves, strict=True)):
            return self  # keeps its cached properties
        return pytree.tree_unflatten(mapped, structure)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a frozen dataclass that is a pytree and that torch.load(weights_only=True) accepts."""
    kind = dataclass(frozen=True, eq=False)(kind)
    kind.__module__ = "edgecond.graph"  # the public path, which saved files contain
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]

    def restore(leaves: Iterable[Any], _: None) -> Any:
        instance: Any = object.__new__(kind)  # unchecked: while tracing, leaves need not be tensors
        instance.__dict__.update(zip(names, leaves, strict=True))
        return instance

    pytree.register_pytree_node(
        kind,
        lambda instance: ([getattr(instance, name) for name in names], None),
        restore,
        flatten_with_keys_fn=lambda instance: (
            [(pytree.GetAttrKey(name), getattr(instance, name)) for name in names],
            None,
        ),
        serialized_type_name=f"edgecond.{kind.__name__}",
        to_dumpable_context=lambda context: context,
        from_dumpable_context=lambda context: context,
    )
    torch.serialization.add_safe_globals([kind])
    return kind

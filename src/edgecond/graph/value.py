"""Small immutable values made of tensors: they move between devices, and torch can look inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform, Self, TypeVar

import torch
import torch.utils._pytree as pytree
from torch import Tensor

T = TypeVar("T")


class Movable:
    """A value whose tensors, those of values inside it included, go to a device or a precision together."""

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The same value on another device, or with its real-valued tensors in another precision."""
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)

        def move(tensor: Tensor) -> Tensor:
            real = dtype is not None and tensor.is_floating_point()
            return tensor.to(device, dtype if real else tensor.dtype, non_blocking)

        return self._with(move)

    def pin_memory(self) -> Self:
        """The same value in page-locked memory, from where copies to a GPU do not wait."""
        return self._with(Tensor.pin_memory)

    def _with(self, move: Callable[[Tensor], Tensor]) -> Self:
        leaves, structure = pytree.tree_flatten(self)
        moved = [move(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        if all(new is old for new, old in zip(moved, leaves, strict=True)):
            return self  # with all that has been derived from it
        return pytree.tree_unflatten(moved, structure)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """A frozen dataclass that torch.compile and torch.export see through, and that torch.load may read."""
    kind = dataclass(frozen=True, eq=False)(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]

    def restore(leaves: Iterable[Any], _: None) -> Any:
        found: Any = object.__new__(kind)  # unchecked: while tracing, leaves need not be tensors
        found.__dict__.update(zip(names, leaves, strict=True))
        return found

    pytree.register_pytree_node(
        kind,
        lambda found: ([getattr(found, name) for name in names], None),
        restore,
        flatten_with_keys_fn=lambda found: ([(pytree.GetAttrKey(name), getattr(found, name)) for name in names], None),
        serialized_type_name=f"edgecond.{kind.__name__}",
        to_dumpable_context=lambda context: context,
        from_dumpable_context=lambda context: context,
    )
    torch.serialization.add_safe_globals([kind])
    return kind

"""What torch.export needs of us."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils import _pytree


def register_for_export(named_tuple: type) -> None:
    """Lets an exported program that takes or gives such tuples be saved and loaded."""
    _pytree._register_namedtuple(named_tuple, serialized_type_name=f"primal.{named_tuple.__name__}")
    torch.serialization.add_safe_globals([named_tuple])


def is_known(condition: bool) -> bool:
    """Whether it holds; no, where a graph is made for sizes that are not known yet."""
    if not torch.compiler.is_compiling():
        return bool(condition)
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # a third of a second, for those who compile

    return guard_or_false(condition)


def is_empty(x: Tensor, dim: int) -> bool:
    """Whether it is known to have no entries along this dimension."""
    return is_known(x.shape[dim] == 0)

"""What torch.export needs of us."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import guard_or_false
from torch.utils import _pytree


def register_for_export(named_tuple: type) -> None:
    """Lets an exported program that takes or gives such tuples be saved and loaded."""
    _pytree._register_namedtuple(named_tuple, serialized_type_name=f"primal.{named_tuple.__name__}")
    torch.serialization.add_safe_globals([named_tuple])


def is_empty(x: Tensor, dim: int) -> bool:
    """Whether it has no entries along this dimension; no, where a graph is made for sizes that are not known yet."""
    if torch.compiler.is_compiling():
        return guard_or_false(x.shape[dim] == 0)
    return bool(x.shape[dim] == 0)

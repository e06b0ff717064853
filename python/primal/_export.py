"""What torch.export needs of our types."""

from __future__ import annotations

import torch
from torch.utils import _pytree


def register_for_export(named_tuple: type) -> None:
    """Lets an exported program that takes or gives such tuples be saved and loaded."""
    _pytree._register_namedtuple(named_tuple, serialized_type_name=f"primal.{named_tuple.__name__}")
    torch.serialization.add_safe_globals([named_tuple])

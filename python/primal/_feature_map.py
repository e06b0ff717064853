"""A feature map as a layer is given it: a name, or a function."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from primal import _library as _library  # loads torch.ops.primal_util
from primal import reference


def feature_width(feature_map: str | Callable[[Tensor], Tensor], head_dim: int) -> int:
    if callable(feature_map):
        return feature_map(torch.ones(1, 1, 1, head_dim)).shape[-1]
    return int(torch.ops.primal_util.feature_width(feature_map, head_dim))


def in_python(feature_map: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return feature_map if callable(feature_map) else reference.feature_map(feature_map)

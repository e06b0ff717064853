"""Weights of the published research code under the parameter names of this library (docs/parameter-names.md)."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from primal import _library  # noqa: F401  loads the operators

Kind = Literal["time_series", "lra", "rl", "vision", "language"]

# Under these keys the published training scripts store the weights, beside the epoch, the optimizer and so on.
_CONTAINER_KEYS = ("state_dict", "model_state_dict", "model")


def import_reference(state_dict: Mapping[str, Any], kind: Kind) -> dict[str, Tensor]:
    """Renames and reshapes published parameters of a whole model or of one attention layer.

    Which of the two it is, and which layers are primal and which softmax, is found from the keys.

    Args:
        state_dict: name -> tensor, or a published checkpoint that holds such a mapping under ``state_dict``,
            ``model_state_dict`` or ``model``. A prefix ``module.`` shared by all names is removed.
        kind: the published code base the weights come from.

    Returns:
        Contiguous, detached tensors of the given dtype. Those that need no split or transpose share memory with
        the given ones.

    Raises:
        ValueError: unknown kind, missing or unknown keys (all are listed), shapes that do not fit each other.
        TypeError: a value is not a tensor.

    Example::

        checkpoint = torch.load("model_best.pth", map_location="cpu")
        weights = import_reference(checkpoint, "time_series")
        weights["encoder.layers.0.attention.q_proj.weight"]
    """
    weights = _unwrap(state_dict)
    for name, value in weights.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"import_reference({kind}): {name} is of type {type(value).__name__}, expected a tensor")
    names, tensors = torch.ops.primal_util.import_reference(list(weights), list(weights.values()), kind)
    return dict(zip(names, tensors, strict=True))


def _unwrap(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    """The weights inside a published checkpoint; a plain state dict is returned as it is."""
    for key in _CONTAINER_KEYS:
        if isinstance(inner := checkpoint.get(key), Mapping):
            return inner
    return checkpoint

"""The cross entropy of a linear layer's logits, which are never held at once."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from primal import _library as _library  # loads torch.ops.primal
from primal import reference
from primal._inputs import check_choice, check_tensor

_OWNER = "linear_cross_entropy"


def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    implementation: Literal["auto", "plain"] = "auto",
) -> tuple[Tensor, Tensor]:
    """F.cross_entropy(F.linear(hidden, weight), targets, reduction="sum") without the logits [T, V] in memory.

    The logits of a few tokens exist at a time. When a gradient is needed, the forward pass makes it on the way.
    T tokens, D width, V vocabulary.

    Args:
        hidden: [T, D], float32, float64 or bfloat16 (then all is computed in float32).
        weight: [V, D], as hidden; float32 and bfloat16 may stand beside each other.
        targets: [T] int64, in [0, V) or ignore_index.
        ignore_index: tokens with this target count for nothing.
        label_smoothing: this share of the target, in [0, 1], is spread evenly over the vocabulary.
        implementation: "auto": the operator of the C++ library; "plain": PyTorch's own functions, with the logits, for
            what the operator does not have: torch.func, forward mode, second derivatives. "auto" takes that path too
            in torch.onnx.export.

    Returns:
        The sum of the losses, [], float32 or float64; and -log p(target) of each token without label smoothing, [T],
        without gradient, 0 where ignored.

    Example::

        loss, nll = primal.linear_cross_entropy(features, embedding.weight, targets, label_smoothing=0.1)
        (loss / targets.numel()).backward()
        perplexity = nll.mean().exp()
    """
    for name, value in {"hidden": hidden, "weight": weight, "targets": targets}.items():
        check_tensor(_OWNER, name, value)
    check_choice(_OWNER, "implementation", implementation, ("auto", "plain"))
    if implementation == "auto" and not torch.onnx.is_in_onnx_export():  # ONNX has no such operator
        loss, nll = torch.ops.primal.linear_cross_entropy(hidden, weight, targets, ignore_index, label_smoothing)
        return loss, nll
    return reference.linear_cross_entropy(hidden, weight, targets, ignore_index, label_smoothing)

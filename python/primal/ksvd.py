"""The KSVD regulariser: J = Le + Lr - Tr of each primal layer, squared and added to the task loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from primal._export import register_for_export


class KsvdTerms(NamedTuple):
    """Terms of one layer, [B] each; float32 when the tokens are bfloat16."""

    le: Tensor  #: 1/2 mean over heads and tokens of e Lambda e^T
    lr: Tensor  #: the same for r
    tr: Tensor  #: mean over heads of the trace of We^T Wr

    def objective(self) -> Tensor:
        """J = Le + Lr - Tr, zero at a stationary point of the kernel SVD. -> [B]"""
        return self.le + self.lr - self.tr


register_for_export(KsvdTerms)


def ksvd_loss(
    layers: KsvdTerms | Iterable[KsvdTerms],
    eta: float,
    reduction: Literal["per_sample", "batch_mean", "none"] = "per_sample",
) -> Tensor:
    """eta times the mean over the layers of J^2.

    per_sample: mean over the batch of J^2 (published for time series, RL, language).
    batch_mean: (mean over the batch of J)^2 (published for LRA, vision).
    none: J^2 of each sample, [B].
    """
    layers = [layers] if isinstance(layers, KsvdTerms) or not isinstance(layers, Iterable) else list(layers)
    if not layers:
        raise ValueError("ksvd_loss: no layer given")
    for terms in layers:
        if not isinstance(terms, KsvdTerms):
            raise TypeError(f"ksvd_loss: layers must be KsvdTerms, one or several, got {type(terms).__name__}")
    objectives = [terms.objective() for terms in layers]
    if reduction == "per_sample":
        squares = [j.square().mean() for j in objectives]
    elif reduction == "batch_mean":
        squares = [j.mean().square() for j in objectives]
    elif reduction == "none":
        squares = [j.square() for j in objectives]
    else:
        raise ValueError(f"ksvd_loss: reduction must be per_sample, batch_mean or none, got {reduction!r}")
    return eta * torch.stack(squares).mean(0)

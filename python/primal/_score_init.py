"""What We, Wr, Lambda and the time scales of a layer are before training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn

from primal._parameters import assign

if TYPE_CHECKING:
    from primal.attention import PrimalAttention


@torch.no_grad()
def reset_scores(layer: PrimalAttention) -> None:
    for weight in (layer.we, layer.wr):
        # QR has no bfloat16 form.
        wide = torch.float64 if weight.dtype == torch.float64 else torch.float32
        drawn = torch.empty(weight.shape, dtype=wide, device=weight.device)
        for block in [drawn] if layer.init == "reference" else drawn:
            nn.init.orthogonal_(block)
        assign(weight, drawn)
    lam = torch.rand(layer.lam.shape, dtype=layer.lam.dtype, device=layer.lam.device)
    if layer.lambda_form != "squared":  # the same Lambda to begin with; log has no finite value at 0
        target = lam.square().clamp_min(1e-6)
        lam = target.log() if layer.lambda_form == "exp" else target.expm1().log()
    assign(layer.lam, lam)
    if layer.log_scale is not None:
        longest = math.log(layer.memory_tokens)
        scales = torch.linspace(0, longest, layer.num_heads, dtype=torch.float64)
        assign(layer.log_scale, (scales if layer.num_heads > 1 else scales + longest / 2).to(layer.log_scale))

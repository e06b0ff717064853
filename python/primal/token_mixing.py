"""Tokens mixed with their neighbours before an attention sees them: a short convolution, then a memory that fades."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from primal import _library as _library  # loads torch.ops.primal
from primal import reference
from primal._export import register_for_export
from primal._inputs import Lengths, check_choice, check_tokens, count, flag, one_mask, size
from primal._parameters import assign, check_whole
from primal.plain_average import SHORTEST


class MixingState(NamedTuple):
    """What a causal mixing remembers of the past. Returned anew by every step."""

    sums: Tensor  # [B, S, D] float64; S = 0 without a memory
    recent: Tensor  # [B, K - 1, D], the last tokens, 0 for padded ones; [B, 0, D] without a convolution


register_for_export(MixingState)


class TokenMixing(nn.Module):
    """Input [B, N, D] -> output [B, N, D]. Starts as the tokens plus a mean of their averages.

    The convolution is depth-wise: `taps` [K, D], oldest token first. The memory has fading averages at S time scales
    per channel, forward in time and, unless it is causal, backward with scales of its own: `log_scale` [R, S, D] is the
    log of the time scale in tokens, `gain` [R, S, D] the weight of an average, `skip` [D] that of the token itself.

    Args:
        embed_dim: width D.
        memory: "decay", or "none": only the convolution.
        scales: S.
        tokens: the longest time scale to begin with; the others lie between it and one token.
        causal: only the past.
        kernel: K, tokens of the convolution: the last ones if causal, else those around each, and odd. 0: none.
        implementation: "plain": PyTorch's own functions, as PrimalAttention says.

    Example::

        mixing = primal.TokenMixing(64, tokens=1000, kernel=3)
        mixed = mixing(x, lengths=lengths)
    """

    log_scale: Tensor | None
    gain: Tensor | None
    skip: Tensor | None
    taps: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        *,
        memory: Literal["none", "decay"] = "decay",
        scales: int = 4,
        tokens: int = 1024,
        causal: bool = False,
        kernel: int = 0,
        implementation: Literal["auto", "plain"] = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_choice("TokenMixing", "memory", memory, ("none", "decay"))
        check_choice("TokenMixing", "implementation", implementation, ("auto", "plain"))
        self.embed_dim = size("TokenMixing", "embed_dim", embed_dim)
        self.memory, self.causal = memory, flag("TokenMixing", "causal", causal)
        self.scales, self.tokens = size("TokenMixing", "scales", scales), size("TokenMixing", "tokens", tokens)
        self.kernel, self.implementation = count("TokenMixing", "kernel", kernel), implementation
        if not self.causal and self.kernel > 0 and self.kernel % 2 == 0:
            raise ValueError(
                "TokenMixing: a kernel that looks both ways must be odd, so that its token stands in the middle, "
                f"got {self.kernel}"
            )
        if memory == "none" and self.kernel == 0:
            raise ValueError("TokenMixing: neither a memory nor a kernel: there is nothing to mix")
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        per_scale = (1 if self.causal else 2, self.scales, self.embed_dim)
        shapes = {"log_scale": per_scale, "gain": per_scale, "skip": (self.embed_dim,)} if memory == "decay" else {}
        if self.kernel > 0:
            shapes["taps"] = (self.kernel, self.embed_dim)
        for name in ("log_scale", "gain", "skip", "taps"):
            made = nn.Parameter(torch.empty(shapes[name], **factory)) if name in shapes else None
            self.register_parameter(name, made)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if self.log_scale is not None and self.gain is not None and self.skip is not None:
            # From one token to the longest scale, and each channel between its neighbours.
            scale = torch.arange(self.scales, dtype=torch.float64)[:, None]
            channel = torch.arange(self.embed_dim, dtype=torch.float64) / self.embed_dim
            log_scale = (scale + channel) * (math.log(self.tokens) / self.scales)
            for parameter, value in (
                (self.log_scale, log_scale),
                (self.gain, torch.tensor(1 / (self.log_scale.shape[0] * self.scales))),
                (self.skip, torch.tensor(1.0)),
            ):
                assign(parameter, value.to(parameter.device, parameter.dtype).expand(parameter.shape))
        if self.taps is not None:
            own = torch.zeros(self.taps.shape, device=self.taps.device, dtype=self.taps.dtype)
            own[self._taps_before()] = 1
            assign(self.taps, own)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None, *, lengths: Lengths | None = None) -> Tensor:
        """x: [B, N, D]; key_padding_mask: [B, N] bool, True = padded, or lengths: [B].

        Padded tokens count as 0 in the convolution, the memory passes over them, and the output is 0 there, whatever
        stands in them, even NaN.
        """
        self._check("x", x)
        padding = one_mask("TokenMixing", x, {"key_padding_mask": key_padding_mask}, {"lengths": lengths})
        return self._mixed(x, padding, None)[0]

    def initial_state(self, batch_size: int) -> MixingState:
        """The state before the first token of a causal mixing."""
        self._check_causal()
        like = self.skip if self.taps is None else self.taps
        assert like is not None  # there is one of them
        scales = 0 if self.log_scale is None else self.scales
        sums = torch.zeros(batch_size, scales, self.embed_dim, dtype=torch.float64, device=like.device)
        recent = torch.zeros(batch_size, max(self.kernel - 1, 0), self.embed_dim, dtype=like.dtype, device=like.device)
        return MixingState(sums, recent)

    @torch.no_grad()
    def step(
        self, tokens: Tensor, state: MixingState, *, key_padding_mask: Tensor | None = None
    ) -> tuple[Tensor, MixingState]:
        """The next tokens [B, T, D] of a causal mixing after `state`: their output and the state after them."""
        self._check("tokens", tokens)
        mask = one_mask("TokenMixing", tokens, {"key_padding_mask": key_padding_mask}, {})
        return self._step(tokens, state, mask)

    def _step(self, tokens: Tensor, state: MixingState, padding: Tensor | None) -> tuple[Tensor, MixingState]:
        """Called without gradient: one no_grad inside another could not be exported."""
        self._check_causal()
        check_whole("TokenMixing", next(self.parameters()), "step")
        _check_state(self.initial_state(tokens.shape[0]), state)
        return self._mixed(tokens, padding, state)

    def extra_repr(self) -> str:
        memory = f", scales={self.scales}, tokens={self.tokens}" if self.memory == "decay" else ", memory=none"
        kernel = f", kernel={self.kernel}" if self.kernel else ""
        return f"{self.embed_dim}{memory}{kernel}{', causal=True' if self.causal else ''}"

    def _check(self, name: str, x: Tensor) -> None:
        check_tokens("TokenMixing", name, x)
        if x.shape[2] != self.embed_dim:
            raise ValueError(f"TokenMixing: {name} must be [B, N, D] = [B, N, {self.embed_dim}], got {list(x.shape)}")

    def _check_causal(self) -> None:
        if not self.causal:
            raise ValueError("TokenMixing: only a causal mixing has a state")

    def _taps_before(self) -> int:
        """Tokens of the convolution that stand before the token itself."""
        return self.kernel - 1 if self.causal else self.kernel // 2

    def _mixed(self, x: Tensor, padding: Tensor | None, state: MixingState | None) -> tuple[Tensor, MixingState]:
        empty = MixingState(x.new_empty(0), x.new_empty(0))
        sums, recent = empty if state is None else state
        u = x if padding is None else x.masked_fill(padding[..., None], 0)
        if self.taps is not None:
            around = (
                F.pad(u, (0, 0, self._taps_before(), self.kernel - 1 - self._taps_before()))
                if state is None
                else torch.cat([recent.to(u.dtype), u], dim=1)
            )
            recent = around.narrow(1, x.shape[1], self.kernel - 1)
            recent = recent if state is None else recent.clone()  # a view would keep all of these tokens
            u = _convolved(around, self.taps, x.shape[1])
            u = u if padding is None else u.masked_fill(padding[..., None], 0)
        if self.log_scale is not None and self.gain is not None and self.skip is not None:
            wide = _wide(u)
            log_scale = self.log_scale.to(wide)
            # A gain of 1 is an average. 1 - a itself would lose its digits for long scales.
            rate = torch.exp(-log_scale.clamp_min(SHORTEST))
            weight = self.gain.to(wide) * -torch.expm1(-rate)
            average = reference.moving_average if self._is_plain() else torch.ops.primal.moving_average
            u, sums = average(u, log_scale, weight, self.skip.to(wide), padding, None if state is None else sums)
        return u, MixingState(sums, recent)

    def _is_plain(self) -> bool:
        return self.implementation == "plain" or torch.onnx.is_in_onnx_export()  # ONNX has no such operator


def _convolved(around: Tensor, taps: Tensor, tokens: int) -> Tensor:
    """sum over k of taps[k] u[t + k] for the first tokens t. around: [B, tokens + K - 1, D]"""
    wide, rows = around.to(_wide(around)), taps.to(_wide(around)).unbind(0)
    total = wide.narrow(1, 0, tokens) * rows[0]
    for k in range(1, len(rows)):
        total = total + wide.narrow(1, k, tokens) * rows[k]
    return total.to(around.dtype)


def _wide(x: Tensor) -> torch.dtype:
    """Sums of bfloat16 numbers are made in float32."""
    return torch.promote_types(x.dtype, torch.float32)


def _check_state(expected: MixingState, given: object) -> None:
    if not (isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(part, Tensor) for part in given)):
        raise TypeError(f"TokenMixing: state must be a MixingState of two tensors, got {type(given).__name__}")
    for name, like, part in zip(expected._fields, expected, given, strict=True):
        if part.shape != like.shape or part.device != like.device:
            raise ValueError(
                f"TokenMixing: state {name} must be {list(like.shape)} on {like.device}, "
                f"got {list(part.shape)} on {part.device}"
            )
        if name == "sums" and part.dtype != torch.float64:
            raise ValueError(f"TokenMixing: state sums must be torch.float64, got {part.dtype}")

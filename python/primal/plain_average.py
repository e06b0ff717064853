"""Moving averages in plain PyTorch: `primal.reference.moving_average`."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from primal._export import is_empty

# exp(-exp(7)) is 0 in float64. A time scale below e^-7 tokens fades as fully, and its derivative is 0 and not 0 * inf.
SHORTEST = -7.0
# A graph for a number of tokens without limit cannot take steps without limit: it is right for up to so many.
_LONGEST = 2**20
_LIMIT = 2**40  # more than any memory holds


def moving_average(
    x: Tensor,
    log_scale: Tensor,
    weight: Tensor,
    skip: Tensor | None = None,
    padding: Tensor | None = None,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """m_{i,t} = a_i m_{i,t-1} + x_t and y_t = sum_i w_i m_{i,t} + skip x_t; arguments as of `primal.moving_average`.

    Sums in float32 or, for float64, in float64; what the state left behind fades in float64."""
    batch, tokens, width = x.shape
    directions, scales, groups = log_scale.shape
    share = width // groups if groups > 0 else 0
    inner = torch.promote_types(x.dtype, torch.float32)
    u = x.to(inner) if padding is None else x.to(inner).masked_fill(padding[..., None], 0)
    u = u.reshape(batch, 1, tokens, groups, share)
    y = u[:, 0] * (0 if skip is None else skip.to(inner).reshape(groups, share))
    last = x.new_zeros(batch, scales if directions == 1 else 0, width, dtype=torch.float64)
    for direction in range(directions):
        fade = _Fade.of(log_scale[direction], tokens, padding, direction)
        m = _fading_sums(_in_order(u, direction).expand(-1, scales, -1, -1, -1), fade)
        left = None if state is None else fade.between(0, fade.count) * state.reshape(batch, scales, 1, groups, share)
        if directions == 1:
            last = _last(x, m, left, last if state is None else state)
        m = m if left is None else m + left.to(inner)
        w = weight[direction].to(inner).reshape(scales, 1, groups, share)
        y = y + _in_order((w * m).sum(1, keepdim=True), direction)[:, 0]
    y = y.reshape(x.shape)
    return (y if padding is None else y.masked_fill(padding[..., None], 0)).to(x.dtype), last


def _last(x: Tensor, m: Tensor, left: Tensor | None, before: Tensor) -> Tensor:
    """The sums after the last token. [B, S, D]"""
    if is_empty(x, 1):
        return before.clone()
    own = m[:, :, -1].double()
    return (own if left is None else own + left[:, :, -1]).flatten(2)


class _Fade(NamedTuple):
    """How the sums of one direction fade between two tokens: by those of the tokens after the first that count."""

    rate: Tensor  # [S, 1, G, 1] float64: tokens per time scale
    count: Tensor  # type: ignore[assignment]  # [B or 1, 1, N, 1, 1] float64: tokens so far that are not padded
    padded: bool

    @staticmethod
    def of(log_scale: Tensor, tokens: int, padding: Tensor | None, direction: int) -> _Fade:
        """log_scale: [S, G]"""
        scale = log_scale.double()
        rate = torch.where(scale < SHORTEST, SHORTEST, scale).neg().exp()[:, None, :, None]
        if padding is None:
            count = torch.arange(1, tokens + 1, dtype=torch.float64, device=log_scale.device)[None]
        else:
            count = (~(padding.flip(1) if direction else padding)).double().cumsum(1)
        return _Fade(rate, count[:, None, :, None, None], padding is not None)

    def between(self, earlier: Tensor | int, later: Tensor) -> Tensor:
        """a to the power of the tokens between: from the time scale itself, so no rounded a is multiplied up."""
        return ((earlier - later) * self.rate).exp()


def _fading_sums(u: Tensor, fade: _Fade) -> Tensor:
    """Each step adds, to the sums over the last k tokens, those over the k before. u: [B, S, N, G, D/G]"""
    m, tokens = u, u.shape[2]
    most = _LIMIT if _certain(tokens <= _LIMIT) else _LONGEST
    k = 1
    while k < most and not _certain(tokens <= k):
        m = _longer_if_any(m, fade, k) if torch.compiler.is_compiling() else _longer(m, fade, k)
        k *= 2
    return m


def _longer(m: Tensor, fade: _Fade, k: int) -> Tensor:
    if fade.padded:
        a = fade.between(fade.count[:, :, :-k], fade.count[:, :, k:])
    else:
        a = fade.between(0, fade.count[:, :, k - 1 : k])  # the same for all tokens
    return torch.cat([m[:, :, :k], m[:, :, k:] + a.to(m.dtype) * m[:, :, :-k]], dim=2)


def _longer_if_any(m: Tensor, fade: _Fade, k: int) -> Tensor:
    """In a graph, which may not know whether there are more than k tokens."""
    index = torch.arange(m.shape[2], device=m.device) - k
    earlier = index.clamp_min(0)
    a = fade.between(fade.count.index_select(2, earlier), fade.count) * (index >= 0)[:, None, None]
    return m + a.to(m.dtype) * m.index_select(2, earlier)


def _in_order(u: Tensor, direction: int) -> Tensor:
    return u.flip(2) if direction else u


def _certain(condition: bool) -> bool:
    """Whether it holds; no, where a graph is made for sizes that may or may not fulfil it."""
    if not torch.compiler.is_compiling():
        return bool(condition)
    from torch.fx.experimental.symbolic_shapes import statically_known_true  # as in primal._export

    return statically_known_true(condition)

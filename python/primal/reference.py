"""Primal-Attention in plain eager PyTorch, straight from its formulas.

Slow and obviously right: the oracle of the tests, the baseline of the benchmarks, the path of feature maps written in
Python, and what `implementation="plain"` runs: whatever PyTorch can do with its own functions works here.

Symbols: B batch, N tokens, D width, H heads, d = D/H, p features per head, s rank, n sampled rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from primal._export import is_empty
from primal.plain_average import SHORTEST
from primal.plain_average import moving_average as moving_average
from primal.plain_feature_map import FeatureMap as FeatureMap
from primal.plain_feature_map import cosine as cosine
from primal.plain_feature_map import exponential as exponential
from primal.plain_feature_map import feature_map as feature_map
from primal.plain_feature_map import identity as identity
from primal.plain_feature_map import polynomial as polynomial


class Parameters(NamedTuple):
    """Weights of one layer. `lam` is Lambda of the KSVD objective itself (positive), whatever its parametrisation."""

    q_weight: Tensor  # [D, D]
    q_bias: Tensor | None  # [D]
    k_weight: Tensor  # [D, D]
    k_bias: Tensor | None  # [D]
    we: Tensor  # [H, n, s] data-dependent, [H, p, s] data-independent
    wr: Tensor
    lam: Tensor  # [H, s]
    score_weight: Tensor  # [d, 2s]
    score_bias: Tensor | None  # [d]
    out_weight: Tensor  # [D, D]
    out_bias: Tensor | None  # [D]
    log_scale: Tensor | None = None  # [G], G divides D: causal, q and k fade


class Maps(NamedTuple):
    """The same layer with its linear maps as functions, such as modules."""

    q: Callable[[Tensor], Tensor]  # [..., D] -> [..., D]
    k: Callable[[Tensor], Tensor]
    we: Tensor
    wr: Tensor
    lam: Tensor
    score: Callable[[Tensor], Tensor]  # [..., 2s] -> [..., d]
    out: Callable[[Tensor], Tensor]
    log_scale: Tensor | None = None


def maps_of(p: Parameters) -> Maps:
    def linear(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
        return lambda x: F.linear(x, weight, bias)

    return Maps(
        linear(p.q_weight, p.q_bias),
        linear(p.k_weight, p.k_bias),
        p.we,
        p.wr,
        p.lam,
        linear(p.score_weight, p.score_bias),
        linear(p.out_weight, p.out_bias),
        p.log_scale,
    )


class Past(NamedTuple):
    """What a causal layer remembers."""

    q_sum: Tensor  # [B, D] float64
    k_sum: Tensor
    count: Tensor  # type: ignore[assignment]  # [B] int64; hides tuple.count


class Result(NamedTuple):
    out: Tensor  # [B, Nq, D]
    e: Tensor  # [B, H, Nq, s]
    r: Tensor  # [B, H, Nk, s]
    le: Tensor  # [B]
    lr: Tensor  # [B]
    tr: Tensor  # [B]
    we_x: Tensor  # [B or 1, H, p, s]
    wr_x: Tensor
    past: Past | None  # after these tokens, when it was given
    query_f: Tensor  # [B, H, Nq, p]: phi(q)
    key_f: Tensor  # [B, H, Nk, p]: phi(k)
    rows_f: Tensor | None  # [B, H, n, p]: f(X); None for data-independent weights


# --- which rows of X make the weights, and which key row stands beside a query row ---


def even_ranks(length: Tensor, n: int) -> Tensor:
    """floor(i * (length - 1) / (n - 1)) for i < n: n ranks spread evenly over each length. length: [B] -> [B, n]."""
    i = torch.arange(n, device=length.device)
    return i * (length - 1).clamp_min(0)[:, None] // max(n - 1, 1)


def linspace_ranks(length: Tensor, n: int) -> Tensor:
    """What integer `linspace(0, length - 1, n)` gives in PyTorch >= 2.0. length: [B] -> [B, n]"""
    i, last = torch.arange(n, device=length.device), (length - 1).double()[:, None]
    step = last / max(n - 1, 1)
    return torch.where(i < max(n // 2, 1), step * i, last - step * (n - 1 - i)).long()


def legacy_ranks(length: Tensor, n: int) -> Tensor:
    """What it gave in PyTorch 1.6 to 1.13: groups of 4, each counted from an already truncated base."""
    plain, step = linspace_ranks(length, n), (length - 1).double()[:, None] / max(n - 1, 1)
    i = torch.arange(n, device=length.device)
    grouped = (plain[:, i - i % 4] + (i % 4) * step).long()
    return torch.where(i < n - n % 8, grouped, plain)


def position_of_rank(valid: Tensor, rank: Tensor) -> Tensor:
    """Position of the rank-th valid token, 0 if there are fewer. valid: [B, N] bool, rank: [B, m] -> [B, m]."""
    tokens = valid.shape[1]
    slot = torch.where(
        valid, valid.long().cumsum(1) - 1, tokens
    )  # those that are not valid share one behind the others
    position = torch.arange(tokens, device=valid.device).expand_as(slot)
    return rank.new_zeros(valid.shape[0], tokens + 1).scatter(1, slot, position).gather(1, rank)


def take(x: Tensor, position: Tensor) -> Tensor:
    """Rows of x [B, N, ...] at position [B, m]; zeros when there is no row to take."""
    if is_empty(x, 1):
        return x.new_zeros(x.shape[0], position.shape[1], *x.shape[2:])
    index = position.reshape(*position.shape, *[1] * (x.dim() - 2)).expand(-1, -1, *x.shape[2:])
    return x.gather(1, index)


def running_mean(u: Tensor, valid: Tensor, before: Tensor | None = None, count: Tensor | None = None) -> Tensor:
    """Mean over the valid tokens up to and including each one, after `count` [B] others whose sum is `before` [B, D].

    u: [B, N, D], valid: [B, N] bool. Summed in float64."""
    sums, counts = (u * valid[..., None]).double().cumsum(1), valid.cumsum(1)
    if before is not None and count is not None:
        sums, counts = sums + before[:, None], counts + count[:, None]
    return (sums / counts.clamp_min(1)[..., None]).to(u.dtype)


def faded(rate: Tensor, tokens: Tensor) -> Tensor:
    """The weight of what is so many tokens old, exp(-rate * tokens): 1 at age 0, even where the rate is infinite."""
    return torch.where(tokens == 0, 0, -rate * tokens).exp()


def fading_mean(
    u: Tensor, valid: Tensor, log_scale: Tensor, before: Tensor | None = None, count: Tensor | None = None
) -> Tensor:
    """The same mean when a token weighs a^age, a = exp(-exp(-log_scale)); its age counts valid tokens. log_scale: [G]

    0 at tokens that are not valid."""
    ones, state = u.new_ones(1, 1, u.shape[-1], dtype=torch.float64), None if before is None else before[:, None]
    sums, _ = moving_average(u.double(), log_scale.double()[None, None], ones, padding=~valid, state=state)
    rate, counts = _rates(log_scale, u), valid.cumsum(1)[..., None]
    counts = (counts if count is None else counts + count[:, None, None]).clamp_min(1)
    endless = rate == 0  # the plain mean. A quotient there would be NaN, also in the gradient
    some = torch.where(endless, 1, rate)
    weights = torch.where(endless, counts, torch.expm1(-counts * some) / torch.expm1(-some))  # 1 + a + ... + a^(c - 1)
    return (sums / weights).to(u.dtype)


# --- the layer ---


def attention(
    query: Tensor,
    key: Tensor | None,
    p: Parameters | Maps,
    *,
    query_padding_mask: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    feature_map: FeatureMap = cosine,
    causal: bool = False,
    data_dependent: bool = True,
    padding: Literal["respect", "ignore"] = "respect",
    trace: Literal["raw", "data_dependent"] = "raw",
    sampling: Literal["exact", "linspace", "legacy"] = "exact",
    past: Past | None = None,
) -> Result:
    """The whole layer. Masks: [B, N] bool, True = padded. Self-attention when key is None. past: of a causal layer.

    bfloat16 and autocast: scores and terms are made in float32 all the same."""
    maps = maps_of(p) if isinstance(p, Parameters) else p
    if key is None:
        key_padding_mask = query_padding_mask
    respect = padding == "respect"
    self_attention = key is None
    valid_q, valid_k = _valid(query, query_padding_mask), _valid(query if key is None else key, key_padding_mask)
    if respect:
        query = query.masked_fill(~valid_q[..., None], 0)
        key = None if key is None else key.masked_fill(~valid_k[..., None], 0)
    key = query if key is None else key
    counted_q = valid_q if respect else torch.ones_like(valid_q)
    counted_k = valid_k if respect else torch.ones_like(valid_k)
    batch, heads = query.shape[0], maps.we.shape[0]

    q, k = maps.q(query), maps.k(key)
    inner = torch.promote_types(q.dtype, torch.float32)
    with _without_autocast(query.device.type):
        q, k, we, wr, lam = (t.to(inner) for t in (q, k, maps.we, maps.wr, maps.lam))
        after = None if past is None else _after(past, q, k, counted_q, maps.log_scale)
        if causal and maps.log_scale is not None:
            # Both at once: a graph of it is half as long.
            before = None if past is None else torch.cat([past.q_sum, past.k_sum], -1)
            count = None if past is None else past.count
            both = fading_mean(torch.cat([q, k], -1), counted_q, maps.log_scale.repeat(2), before, count)
            q, k = both.chunk(2, -1)
        elif causal:
            q_sum, k_sum, count = past or (None, None, None)
            q, k = running_mean(q, counted_q, q_sum, count), running_mean(k, counted_k, k_sum, count)
        fq, fk = feature_map(_split(q, heads)), feature_map(_split(k, heads))

        we_x, wr_x = we[None], wr[None]
        f: Tensor | None = None
        if data_dependent:
            rows = _sampled_rows(key, counted_k, we.shape[1], sampling).to(inner)
            f = _split(rows, heads)
            if fq.shape[-1] != f.shape[-1]:  # the weights act on features: f(X) must live in that space
                f = feature_map(f)
            f = f * counted_k.any(1)[:, None, None, None]
            we_x = torch.einsum("bhnp,hns->bhps", f, we)
            wr_x = torch.einsum("bhnp,hns->bhps", f, wr)
        e = torch.einsum("bhip,bhps->bhis", fq, we_x.expand(batch, -1, -1, -1))
        r = torch.einsum("bhip,bhps->bhis", fk, wr_x.expand(batch, -1, -1, -1))
        e, r = e * counted_q[:, None, :, None], r * counted_k[:, None, :, None]

        le, lr = _mean_square(e, lam, counted_q), _mean_square(r, lam, counted_k)
        if trace == "raw":
            tr = ((we * wr).sum() / heads).expand(batch)
        else:
            tr = ((we_x * wr_x).sum((1, 2, 3)) / heads).expand(batch)

    beside = r if self_attention else _aligned(r, counted_q, counted_k)
    merged = _merge(maps.score(torch.cat([e, beside], dim=-1).to(query.dtype)))
    if not respect:
        merged = merged * valid_q[..., None]
    out = maps.out(merged)
    if respect:
        out = out * valid_q[..., None]
    return Result(out, e, r, le, lr, tr, we_x, wr_x, after, fq, fk, f)


def ksvd_objective(le: Tensor, lr: Tensor, tr: Tensor) -> Tensor:
    """J = Le + Lr - Tr per sample; zero at a stationary point of the kernel SVD."""
    return le + lr - tr


def stationarity(result: Result, p: Parameters, counted: Tensor, on_data: bool = False) -> Tensor:
    """Mean over the heads of |We - F Phi_k^T R L|^2 / |We|^2 + |Wr - F Phi_q^T E L|^2 / |Wr|^2, L = Lambda / N.

    Zero at stationary points of J alone. -> [B]

    result: of self-attention; counted: [B, N] bool; on_data: J has the trace of We|X and Wr|X."""
    inner = result.e.dtype
    with _without_autocast(result.e.device.type):
        return _stationarity(result, p, counted, inner, on_data)


def _stationarity(result: Result, p: Parameters, counted: Tensor, inner: torch.dtype, on_data: bool) -> Tensor:
    scale = p.lam.to(inner)[None, :, None] / counted.sum(1).clamp_min(1)[:, None, None, None]
    weights = (result.we_x, result.wr_x) if on_data else (p.we.to(inner)[None], p.wr.to(inner)[None])
    residuals = []
    for w, features, scores in zip(weights, (result.key_f, result.query_f), (result.r, result.e), strict=True):
        wanted = features.mT @ scores * scale
        if result.rows_f is not None and not on_data:
            wanted = result.rows_f @ wanted
        residuals.append((w - wanted).square().sum((-2, -1)) / w.square().sum((-2, -1)).clamp_min(1e-30))
    return (residuals[0] + residuals[1]).mean(1)


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, ignore_index: int = -100, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The summed loss [] and -log p(target) [T], with all logits; arguments as of `primal.linear_cross_entropy`."""
    inner = torch.promote_types(hidden.dtype, torch.float32)
    with _without_autocast(hidden.device.type):
        logits = F.linear(hidden.to(inner), weight.to(inner))
        loss = F.cross_entropy(
            logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction="sum"
        )
        nll = F.cross_entropy(logits.detach(), targets, ignore_index=ignore_index, reduction="none")
    return loss, nll


def _valid(x: Tensor, padding_mask: Tensor | None) -> Tensor:
    if padding_mask is None:
        return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    return ~padding_mask


def _without_autocast(device: str) -> contextlib.AbstractContextManager[Any]:
    on = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if on else contextlib.nullcontext()


def _rates(log_scale: Tensor, u: Tensor) -> Tensor:
    """Tokens per time scale of each channel of u. -> [D] float64"""
    return (-log_scale.double().clamp_min(SHORTEST)).exp().repeat_interleave(u.shape[-1] // log_scale.shape[0])


def _after(past: Past, q: Tensor, k: Tensor, counted: Tensor, log_scale: Tensor | None) -> Past:
    new, before = [(u * counted[..., None]).double() for u in (q, k)], [past.q_sum, past.k_sum]
    if log_scale is not None:
        rate, counts, last = _rates(log_scale, q), counted.cumsum(1)[..., None], counted.sum(1)[:, None]
        new = [u * faded(rate, last[:, None] - counts) for u in new]
        before = [u * faded(rate, last) for u in before]
    q_sum, k_sum = (old + u.sum(1) for old, u in zip(before, new, strict=True))
    return Past(q_sum, k_sum, past.count + counted.sum(1))


def _split(x: Tensor, heads: int) -> Tensor:
    """[B, N, D] -> [B, H, N, d]"""
    heads_apart: Tensor = x.unflatten(-1, (heads, x.shape[-1] // heads))  # type: ignore[no-untyped-call]
    return heads_apart.transpose(1, 2)


def _merge(x: Tensor) -> Tensor:
    """[B, H, N, d] -> [B, N, D]"""
    return x.transpose(1, 2).flatten(2)


def _sampled_rows(x: Tensor, counted: Tensor, n: int, sampling: str) -> Tensor:
    length = counted.sum(1)
    if sampling == "exact":
        rank = even_ranks(length, n)
    else:
        ranks = linspace_ranks if sampling == "linspace" else legacy_ranks
        rank = ranks(length.clamp_min(1), n)
    return take(x, position_of_rank(counted, rank))


def _aligned(r: Tensor, counted_q: Tensor, counted_k: Tensor) -> Tensor:
    """The key score beside each query: ranks of the shorter sequence are spread evenly over the longer one."""
    length_q, length_k = counted_q.sum(1), counted_k.sum(1)
    rank = (counted_q.long().cumsum(1) - 1).clamp_min(0)
    rank = rank * (length_k - 1).clamp_min(0)[:, None] // (length_q - 1).clamp_min(1)[:, None]
    return take(r.transpose(1, 2), position_of_rank(counted_k, rank)).transpose(1, 2)


def _mean_square(score: Tensor, lam: Tensor, counted: Tensor) -> Tensor:
    """1/2 of the mean over heads and counted tokens of score Lambda score^T. -> [B]"""
    per_token = (score.square() * lam[:, None]).sum(-1).mean(1)
    return 0.5 * (per_token * counted).sum(1) / counted.sum(1).clamp_min(1)

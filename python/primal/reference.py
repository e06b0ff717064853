"""Primal-Attention in plain eager PyTorch, straight from its formulas.

Slow and obviously right: the oracle of the tests, the baseline of the benchmarks, and the path of feature maps
written in Python. Symbols: B batch, N tokens, D width, H heads, d = D/H, p features per head, s rank, n sampled rows.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

FeatureMap = Callable[[Tensor], Tensor]


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


class Result(NamedTuple):
    out: Tensor  # [B, Nq, D]
    e: Tensor  # [B, H, Nq, s]
    r: Tensor  # [B, H, Nk, s]
    le: Tensor  # [B]
    lr: Tensor  # [B]
    tr: Tensor  # [B]
    we_x: Tensor  # [B or 1, H, p, s]
    wr_x: Tensor


# --- feature maps: [..., d] -> [..., p] ---


def cosine(u: Tensor) -> Tensor:
    """Unit length, so that <phi(q), phi(k)> is the cosine of q and k."""
    return u / u.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def exponential(u: Tensor) -> Tensor:
    """exp(u) scaled to unit length. The largest entry is subtracted first, so nothing overflows."""
    return cosine((u - u.amax(dim=-1, keepdim=True)).exp())


def identity(u: Tensor) -> Tensor:
    return u


def polynomial(degree: int) -> FeatureMap:
    """All monomials of the unit vector, weighted so that <phi(q), phi(k)> = cos(q, k) ** degree."""

    def phi(u: Tensor) -> Tensor:
        unit = cosine(u)
        columns = []
        for factors in itertools.combinations_with_replacement(range(u.shape[-1]), degree):
            repeats = math.prod(math.factorial(c) for c in Counter(factors).values())
            weight = math.sqrt(math.factorial(degree) / repeats)
            columns.append(weight * math.prod(unit[..., i] for i in factors))
        return torch.stack(columns, dim=-1)

    return phi


def feature_map(name: str) -> FeatureMap:
    if match := re.fullmatch(r"polynomial\((\d+)\)", name):
        return polynomial(int(match[1]))
    return {"cosine": cosine, "exponential": exponential, "identity": identity}[name]


# --- which rows of X make the weights, and which key row stands beside a query row ---


def even_ranks(length: Tensor, n: int) -> Tensor:
    """floor(i * (length - 1) / (n - 1)) for i < n: n ranks spread evenly over each length. length: [B] -> [B, n]."""
    i = torch.arange(n, device=length.device)
    return i * (length - 1).clamp_min(0)[:, None] // max(n - 1, 1)


def linspace_ranks(length: int, n: int) -> list[int]:
    """What integer `linspace(0, length - 1, n)` gives in PyTorch >= 2.0."""
    if n == 1:
        return [0]
    last, step = length - 1, (length - 1) / (n - 1)
    return [math.trunc(step * i) if i < n // 2 else math.trunc(last - step * (n - 1 - i)) for i in range(n)]


def legacy_ranks(length: int, n: int) -> list[int]:
    """What it gave in PyTorch 1.6 to 1.13: groups of 4, each counted from an already truncated base."""
    plain, step = linspace_ranks(length, n), (length - 1) / max(n - 1, 1)
    grouped = n - n % 8
    return [math.trunc(plain[i - i % 4] + (i % 4) * step) if i < grouped else plain[i] for i in range(n)]


def position_of_rank(valid: Tensor, rank: Tensor) -> Tensor:
    """Position of the rank-th valid token. valid: [B, N] bool, rank: [B, m] -> [B, m]."""
    position = torch.searchsorted(valid.long().cumsum(1), rank + 1)
    return position.clamp_max(max(valid.shape[1] - 1, 0))


def take(x: Tensor, position: Tensor) -> Tensor:
    """Rows of x [B, N, ...] at position [B, m]; zeros when there is no row to take."""
    if x.shape[1] == 0:
        return x.new_zeros(x.shape[0], position.shape[1], *x.shape[2:])
    index = position.reshape(*position.shape, *[1] * (x.dim() - 2)).expand(-1, -1, *x.shape[2:])
    return x.gather(1, index)


def running_mean(u: Tensor, valid: Tensor) -> Tensor:
    """Mean over the valid tokens up to and including each one. u: [B, N, D], valid: [B, N] bool."""
    count = valid.cumsum(1).clamp_min(1)
    return (u * valid[..., None]).cumsum(1) / count[..., None]


# --- the layer ---


def attention(
    query: Tensor,
    key: Tensor | None,
    p: Parameters,
    *,
    query_padding_mask: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    feature_map: FeatureMap = cosine,
    causal: bool = False,
    data_dependent: bool = True,
    padding: Literal["respect", "ignore"] = "respect",
    trace: Literal["raw", "data_dependent"] = "raw",
    sampling: Literal["exact", "linspace", "legacy"] = "exact",
) -> Result:
    """The whole layer. Masks: [B, N] bool, True = padded. Self-attention when key is None."""
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
    heads = p.we.shape[0]

    q = F.linear(query, p.q_weight, p.q_bias)
    k = F.linear(key, p.k_weight, p.k_bias)
    if causal:
        q, k = running_mean(q, counted_q), running_mean(k, counted_k)
    fq, fk = feature_map(_split(q, heads)), feature_map(_split(k, heads))

    we_x, wr_x = p.we[None], p.wr[None]
    if data_dependent:
        rows = _sampled_rows(key, counted_k, p.we.shape[1], sampling)
        f = _split(rows, heads)
        if fq.shape[-1] != f.shape[-1]:  # the weights act on features: f(X) must live in that space
            f = feature_map(f)
        f = f * counted_k.any(1)[:, None, None, None]
        we_x = torch.einsum("bhnp,hns->bhps", f, p.we)
        wr_x = torch.einsum("bhnp,hns->bhps", f, p.wr)
    e = torch.einsum("bhip,bhps->bhis", fq, we_x.expand(len(query), -1, -1, -1))
    r = torch.einsum("bhip,bhps->bhis", fk, wr_x.expand(len(query), -1, -1, -1))
    e, r = e * counted_q[:, None, :, None], r * counted_k[:, None, :, None]

    beside = r if self_attention else _aligned(r, counted_q, counted_k)
    merged = _merge(F.linear(torch.cat([e, beside], dim=-1), p.score_weight, p.score_bias))
    if not respect:
        merged = merged * valid_q[..., None]
    out = F.linear(merged, p.out_weight, p.out_bias)
    if respect:
        out = out * valid_q[..., None]

    le, lr = _mean_square(e, p.lam, counted_q), _mean_square(r, p.lam, counted_k)
    if trace == "raw":
        tr = ((p.we * p.wr).sum() / heads).expand(len(query))
    else:
        tr = ((we_x * wr_x).sum((1, 2, 3)) / heads).expand(len(query))
    return Result(out, e, r, le, lr, tr, we_x, wr_x)


def ksvd_objective(le: Tensor, lr: Tensor, tr: Tensor) -> Tensor:
    """J = Le + Lr - Tr per sample; zero at a stationary point of the kernel SVD."""
    return le + lr - tr


def _valid(x: Tensor, padding_mask: Tensor | None) -> Tensor:
    if padding_mask is None:
        return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    return ~padding_mask


def _split(x: Tensor, heads: int) -> Tensor:
    """[B, N, D] -> [B, H, N, d]"""
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2)


def _merge(x: Tensor) -> Tensor:
    """[B, H, N, d] -> [B, N, D]"""
    return x.transpose(1, 2).flatten(2)


def _sampled_rows(x: Tensor, counted: Tensor, n: int, sampling: str) -> Tensor:
    length = counted.sum(1)
    if sampling == "exact":
        rank = even_ranks(length, n)
    else:
        ranks = linspace_ranks if sampling == "linspace" else legacy_ranks
        rank = torch.tensor([ranks(max(int(v), 1), n) for v in length], device=x.device).reshape(len(x), n)
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

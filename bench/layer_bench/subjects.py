"""The attentions that are compared, and the floor. x: [B, N, D] -> (output [B, N, D], KSVD terms or None)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import primal
from layer_bench.sizes import Shape

PRIMAL = ("ours", "eager", "compile")  # the same function three times: must agree
ATTENTIONS = (*PRIMAL, "softmax", "linear")


def split(x: Tensor, heads: int) -> Tensor:
    """[B, N, D] -> [B, H, N, d]"""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """[B, H, N, d] -> [B, N, D]"""
    return x.transpose(1, 2).flatten(2)


class EagerPrimalAttention(nn.Module):
    """Primal-Attention as one writes it in PyTorch, with the parameter names of primal.PrimalAttention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.heads, rank, rows = shape.width, shape.heads, shape.rank, shape.rows
        self.q_proj, self.k_proj, self.out_proj = (nn.Linear(width, width) for _ in range(3))
        self.score_proj = nn.Linear(2 * rank, width // self.heads)
        self.we, self.wr = (nn.Parameter(torch.empty(self.heads, rows, rank)) for _ in range(2))
        self.lam = nn.Parameter(torch.empty(self.heads, rank))
        self.register_buffer("row_number", torch.arange(rows), persistent=False)

    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """e and r, [B, H, N, s]"""
        rows = self.row_number * (x.shape[1] - 1) // max(len(self.row_number) - 1, 1)
        sampled = split(x[:, rows], self.heads).transpose(-1, -2)  # [B, H, d, n]
        e = F.normalize(split(self.q_proj(x), self.heads), dim=-1) @ (sampled @ self.we)
        r = F.normalize(split(self.k_proj(x), self.heads), dim=-1) @ (sampled @ self.wr)
        return e, r

    def forward(self, x: Tensor) -> tuple[Tensor, primal.KsvdTerms]:
        e, r = self.scores(x)
        out = self.out_proj(merge(self.score_proj(torch.cat([e, r], dim=-1))))
        lam = self.lam[:, None]
        le, lr = (0.5 * (score * lam).square().sum(-1).mean((1, 2)) for score in (e, r))
        tr = (self.we * self.wr).sum() / self.heads
        return out, primal.KsvdTerms(le, lr, tr.expand(len(x)))


class ValueAttention(nn.Module):
    """Queries, keys and values by heads, mixed in some way, then the output projection."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        parts = (split(part, self.heads) for part in self.qkv_proj(x).chunk(3, dim=-1))
        return self.out_proj(merge(self.mix(*parts))), None


class SoftmaxAttention(ValueAttention):
    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v)


class LinearAttention(ValueAttention):
    """Katharopoulos et al. 2020: phi(u) = elu(u) + 1."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = F.elu(q) + 1, F.elu(k) + 1
        summary = k.transpose(-1, -2) @ v  # [B, H, d, d]
        scale = q @ k.sum(-2)[..., None]  # [B, H, N, 1]
        return q @ summary / scale


def attention(name: str, shape: Shape) -> nn.Module:
    if name == "ours":
        return primal.PrimalAttention(shape.width, shape.heads, shape.rank, shape.rows)
    if name == "softmax":
        return SoftmaxAttention(shape.width, shape.heads)
    if name == "linear":
        return LinearAttention(shape.width, shape.heads)
    return EagerPrimalAttention(shape)


class Floor:
    """The matrix products of the layer alone, with the BLAS of PyTorch, into memory that is there already.

    Forward: x -> [q, k] (D -> 2D) and scores -> output (H * 2s -> D; score and output projection folded into one).
    Backward: the two products of each of these, for its input and for its weight.

    `every` adds what the layer multiplies besides: the scores themselves and their two backward products (per head,
    d x s), and [q, k] and the scores once more, since the layer does not keep them for its backward pass.
    """

    def __init__(self, shape: Shape, batch: int, length: int, *, backward: bool, every: bool = False) -> None:
        tokens, width, scores = batch * length, shape.width, 2 * shape.heads * shape.rank
        self.backward, self.every = backward, every
        self.x, self.grad_out = torch.randn(tokens, width), torch.randn(tokens, width)
        self.in_weight, self.out_weight = torch.randn(2 * width, width), torch.randn(width, scores)
        self.qk, self.grad_qk = torch.randn(tokens, 2 * width), torch.randn(tokens, 2 * width)
        self.scores, self.grad_scores = torch.randn(tokens, scores), torch.empty(tokens, scores)
        self.out, self.grad_x = torch.empty(tokens, width), torch.empty(tokens, width)
        self.grad_in, self.grad_fold = torch.empty(2 * width, width), torch.empty(width, scores)
        groups, head = 2 * batch * shape.heads, width // shape.heads
        if every:
            self.head_qk, self.head_weight = torch.randn(groups, length, head), torch.randn(groups, head, shape.rank)
            self.head_scores = torch.randn(groups, length, shape.rank)
            self.grad_head_qk, self.grad_head_weight = map(torch.empty_like, (self.head_qk, self.head_weight))

    def __call__(self) -> None:
        self._scores()
        torch.mm(self.scores, self.out_weight.t(), out=self.out)
        if self.backward:
            if self.every:
                self._scores()
            self._backward()

    def _scores(self) -> None:
        torch.mm(self.x, self.in_weight.t(), out=self.qk)
        if self.every:
            torch.bmm(self.head_qk, self.head_weight, out=self.head_scores)

    def _backward(self) -> None:
        torch.mm(self.grad_out, self.out_weight, out=self.grad_scores)
        torch.mm(self.grad_out.t(), self.scores, out=self.grad_fold)
        if self.every:
            torch.bmm(self.head_scores, self.head_weight.transpose(1, 2), out=self.grad_head_qk)
            torch.bmm(self.head_qk.transpose(1, 2), self.head_scores, out=self.grad_head_weight)
        torch.mm(self.grad_qk, self.in_weight, out=self.grad_x)
        torch.mm(self.grad_qk.t(), self.x, out=self.grad_in)


def floor_operations(shape: Shape, tokens: int, *, backward: bool) -> int:
    """Floating-point operations of the floor: the useful work of the layer, less than 5 % of it left out."""
    forward = 2 * tokens * shape.width * (2 * shape.width + 2 * shape.heads * shape.rank)
    return 3 * forward if backward else forward

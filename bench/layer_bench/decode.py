"""Causal decoding, one token of each sequence per call, at a given position."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import primal
from layer_bench.agreement import compare
from layer_bench.sizes import Shape
from layer_bench.subjects import merge, split

CHECKED_TOKENS = 24


class OurDecoder:
    def __init__(self, shape: Shape, batch: int) -> None:
        self.layer = primal.PrimalAttention(shape.width, shape.heads, shape.rank, causal=True)
        self.batch = batch

    def move_to(self, position: int) -> None:
        """The sequences so far are random; the state is all that is left of them."""
        tokens = torch.randn(self.batch, position, self.layer.embed_dim)
        self.state = self.layer.step(tokens, self.layer.initial_state(self.batch))[1]

    def step(self, x: Tensor) -> Tensor:
        """Leaves the state as it is, so that every call is at the same position."""
        return self.layer.step(x, self.state)[0]

    def state_bytes(self) -> int:
        return sum(t.nbytes for t in self.state)


class EagerDecoder:
    """The same in plain PyTorch, on the parameters of ours."""

    def __init__(self, layer: primal.PrimalAttention) -> None:
        self.layer = layer

    def take(self, state: primal.State) -> None:
        self.state = state

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        layer, heads = self.layer, self.layer.num_heads
        count = (self.state.count + 1)[:, None]
        sums = self.state.q_sum + layer.q_proj(x)[:, 0], self.state.k_sum + layer.k_proj(x)[:, 0]
        q, k = (F.normalize(split((s / count).float()[:, None], heads), dim=-1) for s in sums)
        self.after = primal.State(*sums, self.state.count + 1)
        scores = torch.cat([q @ layer.we, k @ layer.wr], dim=-1)
        return layer.out_proj(merge(layer.score_proj(scores)))

    def state_bytes(self) -> int:
        return sum(t.nbytes for t in self.state)


class SoftmaxDecoder:
    """The cache of keys and values has room for all tokens; attention sees the part that is filled."""

    def __init__(self, shape: Shape, batch: int, room: int) -> None:
        self.heads = shape.heads
        self.qkv_proj = nn.Linear(shape.width, 3 * shape.width)
        self.out_proj = nn.Linear(shape.width, shape.width)
        self.keys, self.values = torch.randn(2, batch, shape.heads, room, shape.width // shape.heads).unbind()
        self.position = 0

    def move_to(self, position: int) -> None:
        self.position = position

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        q, k, v = (split(part, self.heads) for part in self.qkv_proj(x).chunk(3, dim=-1))
        end = self.position + 1
        self.keys[:, :, self.position : end] = k
        self.values[:, :, self.position : end] = v
        return self.out_proj(merge(F.scaled_dot_product_attention(q, self.keys[:, :, :end], self.values[:, :, :end])))

    def state_bytes(self) -> int:
        return 2 * self.keys[:, :, : self.position].numel() * self.keys.element_size()


class LinearDecoder:
    def __init__(self, shape: Shape, batch: int) -> None:
        self.heads, head = shape.heads, shape.width // shape.heads
        self.qkv_proj = nn.Linear(shape.width, 3 * shape.width)
        self.out_proj = nn.Linear(shape.width, shape.width)
        self.summary, self.sum = torch.rand(batch, shape.heads, head, head), torch.rand(batch, shape.heads, head, 1)

    def move_to(self, position: int) -> None:
        """Its work does not depend on the position."""

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        q, k, v = (split(part, self.heads) for part in self.qkv_proj(x).chunk(3, dim=-1))
        q, k = F.elu(q) + 1, (F.elu(k) + 1).transpose(-1, -2)
        self.summary += k @ v
        self.sum += k
        return self.out_proj(merge(q @ self.summary / (q @ self.sum)))

    def state_bytes(self) -> int:
        return self.summary.nbytes + self.sum.nbytes


def check(ours: OurDecoder, eager: EagerDecoder, shape: Shape) -> float:
    """Several tokens from the beginning: token by token by eager, and by ours in one go and token by token."""
    tokens = torch.randn(ours.batch, CHECKED_TOKENS, shape.width)
    state = ours.layer.initial_state(ours.batch)
    whole = ours.layer.step(tokens, state)[0]
    eager.take(state)
    worst = 0.0
    for i, x in enumerate(tokens.split(1, dim=1)):
        expected = {f"token {i}": eager.step(x)}
        out, state = ours.layer.step(x, state)
        worst = max(worst, compare("ours", {f"token {i}": out}, expected))
        worst = max(worst, compare("ours (at once)", {f"token {i}": whole[:, i : i + 1]}, expected))
        eager.take(eager.after)
    return worst

"""The time-series PrimalFormer, its loss and its optimizer in plain eager PyTorch, to measure the program against.

Written from the formulas, the way one writes a model in a notebook: einsum, nn.Linear, one Python loop over the
parameters per step. No operator of primal is used.
"""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PrimalAttention(nn.Module):
    def __init__(self, width: int, heads: int, rank: int, rows: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.out = (nn.Linear(width, width) for _ in range(3))
        self.score = nn.Linear(2 * rank, width // heads)
        self.we, self.wr = (nn.Parameter(nn.init.orthogonal_(torch.empty(heads, rows, rank))) for _ in range(2))
        self.lam = nn.Parameter(torch.rand(heads, rank))

    def split(self, x: Tensor) -> Tensor:  # [B, N, D] -> [B, H, N, d]
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        tokens, rows = x.shape[1], self.we.shape[1]
        index = torch.arange(rows) * (tokens - 1) // max(rows - 1, 1)
        sampled = self.split(x[:, index])  # [B, H, n, d]
        we, wr = (torch.einsum("bhnd,hns->bhds", sampled, w) for w in (self.we, self.wr))
        q, k = F.normalize(self.split(self.q(x)), dim=-1), F.normalize(self.split(self.k(x)), dim=-1)
        e, r = torch.einsum("bhnd,bhds->bhns", q, we), torch.einsum("bhnd,bhds->bhns", k, wr)
        out = self.score(torch.cat([e, r], -1)).transpose(1, 2).flatten(2)
        lam = self.lam[:, None]
        le, lr = (((s * lam) ** 2).sum(-1).mean((1, 2)) / 2 for s in (e, r))
        trace = (self.we * self.wr).sum((1, 2)).mean()
        return self.out(out), le + lr - trace  # J: [B]


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, rank: int, rows: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.attention = PrimalAttention(width, heads, rank, rows)
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.norm1, self.norm2, self.drop = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        attended, objective = self.attention(x)
        x = self.norm1(x + self.drop(attended))
        inner = self.drop(self.down(self.drop(F.gelu(self.up(x)))))
        return self.norm2(x + inner), objective


class Classifier(nn.Module):
    def __init__(self, channels: int, classes: int, tokens: int, rank: int, rows: int, *, width: int = 512,
                 heads: int = 8, feed_forward: int = 2048, layers: int = 2, dropout: float = 0.1) -> None:  # fmt: skip
        super().__init__()
        self.embed = nn.Linear(channels, width)
        self.positions = nn.Parameter(torch.empty(tokens, width).uniform_(-0.02, 0.02))
        self.layers = nn.ModuleList(
            Layer(width, heads, rank, min(rows, tokens), feed_forward, dropout) for _ in range(layers)
        )
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(dropout)
        self.head = nn.Linear(width * tokens, classes)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, list[Tensor]]:
        h = self.drop(self.embed(x) * math.sqrt(self.positions.shape[1]) + self.positions)
        objectives = []
        for layer in self.layers:
            h, objective = layer(h)
            objectives.append(objective)
        h = self.drop(F.gelu(self.norm(h))) * real[..., None]
        return self.head(h.flatten(1)), objectives


def loss_of(logits: Tensor, labels: Tensor, objectives: list[Tensor], eta: float) -> Tensor:
    ksvd = torch.stack([j**2 for j in objectives]).mean(0)
    return (F.cross_entropy(logits, labels, reduction="none") + eta * ksvd).mean()


class RAdam(torch.optim.Optimizer):
    """The published form: the second moment is not bias-corrected inside the root."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                t, m, v = state["t"], state["m"], state["v"]
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                longest = 2 / (1 - beta2) - 1
                rho = longest - 2 * t * beta2**t / (1 - beta2**t)
                if rho >= 5:
                    ratio = (rho - 4) * (rho - 2) * longest / ((longest - 4) * (longest - 2) * rho)
                    size = group["lr"] * math.sqrt((1 - beta2**t) * ratio) / (1 - beta1**t)
                    p.addcdiv_(m, v.sqrt().add_(group["eps"]), value=-size)
                else:
                    p.add_(m, alpha=-group["lr"] / (1 - beta1**t))

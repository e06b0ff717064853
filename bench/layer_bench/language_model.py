"""The language model in plain eager PyTorch, with the parameter names of the C++ model."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import primal
from layer_bench.language import DROPOUT, ETA, LR, LanguageSizes
from layer_bench.models import EncoderLayer
from layer_bench.sizes import Shape
from layer_bench.subjects import EagerPrimalAttention, merge, split

FIRST_POSITION = 2  # as in fairseq, where the first two are those of padding


class CausalPrimalAttention(EagerPrimalAttention):
    """A token sees the mean of the queries and keys so far. Weights are not made from rows: they have d of them."""

    def __init__(self, width: int, heads: int, rank: int) -> None:
        super().__init__(Shape(width, heads, rank, rows=width // heads))
        for weight in (self.we, self.wr):
            nn.init.orthogonal_(weight)
        nn.init.uniform_(self.lam)

    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        counts = torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]
        q, k = (split(project(x).cumsum(1) / counts, self.heads) for project in (self.q_proj, self.k_proj))
        return F.normalize(q, dim=-1) @ self.we, F.normalize(k, dim=-1) @ self.wr


class CausalSoftmaxAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float = 0) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        q, k, v = (split(project(x), self.heads) for project in (self.q_proj, self.k_proj, self.v_proj))
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.out_proj(merge(mixed)), None


def sinusoids(count: int, width: int) -> Tensor:
    """[count, width], first the sines, then the cosines."""
    frequencies = torch.exp(-math.log(10_000) / (width // 2 - 1) * torch.arange(width // 2, dtype=torch.float64))
    angles = torch.outer(torch.arange(FIRST_POSITION, FIRST_POSITION + count, dtype=torch.float64), frequencies)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


def _attention(kind: str, sizes: LanguageSizes) -> nn.Module:
    if kind == "primal":
        return CausalPrimalAttention(sizes.width, sizes.heads, sizes.rank)
    return CausalSoftmaxAttention(sizes.width, sizes.heads)


class LanguageModel(nn.Module):
    """ids, targets: [B, N] -> the loss."""

    def __init__(self, model: str, sizes: LanguageSizes) -> None:
        super().__init__()
        width = sizes.width
        self.tokens = nn.Embedding(sizes.vocabulary, width)
        nn.init.normal_(self.tokens.weight, std=width**-0.5)
        self.register_buffer("positions", sinusoids(sizes.block, width), persistent=False)
        self.drop = nn.Dropout(DROPOUT)
        layers = [
            EncoderLayer(
                _attention(kind, sizes), width, sizes.feed_forward, DROPOUT, norm_first=True, activation=F.relu
            )
            for kind in sizes.kinds(model)
        ]
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList(layers), "norm": nn.LayerNorm(width)})

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        width = self.tokens.embedding_dim
        x, terms = self.drop(self.tokens(ids) * math.sqrt(width) + self.positions[: ids.shape[1]]), []
        for layer in self.encoder["layers"]:
            x, of_layer = layer(x)
            if of_layer is not None:
                terms.append(of_layer)
        logits = F.linear(self.encoder["norm"](x), self.tokens.weight)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss + primal.ksvd_loss(terms, ETA) if terms else loss


class TrainingStep:
    def __init__(self, model: str, sizes: LanguageSizes) -> None:
        torch.manual_seed(1)
        self.model = LanguageModel(model, sizes)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=LR, fused=True)
        text = torch.randint(sizes.vocabulary, (sizes.examples, sizes.block + 1))
        self.ids, self.targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def __call__(self) -> None:
        self._step(self.ids, self.targets)

    def on_few_tokens(self, count: int) -> None:
        """A step that leaves nothing but the moments of the optimizer, threads and buffers of the BLAS."""
        self._step(self.ids[:1, :count], self.targets[:1, :count])
        self.optimizer.zero_grad()

    def _step(self, ids: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        self.model(ids, targets).backward()
        self.optimizer.step()

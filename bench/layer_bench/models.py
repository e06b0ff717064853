"""An encoder layer around any attention, and the LRA model of such layers."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

import primal
from layer_bench.sizes import Shape
from layer_bench.subjects import attention

VOCABULARY, CLASSES, HEAD_WIDTH = 32, 10, 128


class EncoderLayer(nn.Module):
    """Plain PyTorch, with the parameter names of primal.EncoderLayer."""

    def __init__(
        self,
        inner: nn.Module,
        width: int,
        feed_forward: int,
        dropout: float,
        norm_first: bool,
        activation: Callable[[Tensor], Tensor] = F.gelu,
    ) -> None:
        super().__init__()
        self.attention, self.norm_first, self.activation = inner, norm_first, activation
        self.linear1, self.linear2 = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.norm1, self.norm2, self.drop = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(dropout)

    def forward(self, x: Tensor, *masks: Tensor) -> tuple[Tensor, primal.KsvdTerms | None]:
        attended, terms = self.attention(self.norm1(x) if self.norm_first else x, *masks)
        x = x + self.drop(attended)
        if self.norm_first:
            return x + self._feed_forward(self.norm2(x)), terms
        x = self.norm1(x)
        return self.norm2(x + self._feed_forward(x)), terms

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.drop(self.linear2(self.drop(self.activation(self.linear1(x)))))


def encoder_layer(name: str, shape: Shape, feed_forward: int, dropout: float, norm_first: bool) -> nn.Module:
    """primal.EncoderLayer for ours, if this version of primal has it."""
    fused = getattr(primal, "EncoderLayer", None)
    if name == "ours" and fused is not None:
        options = {"feed_forward": feed_forward, "dropout": dropout, "norm_first": norm_first, "activation": "gelu"}
        return fused(shape.width, shape.heads, shape.rank, shape.rows, **options)
    return EncoderLayer(attention(name, shape), shape.width, feed_forward, dropout, norm_first)


class LraModel(nn.Module):
    """Tokens [B, N] -> logits [B, classes] and the KSVD terms of its primal layers."""

    def __init__(self, layers: list[nn.Module], width: int, length: int) -> None:
        super().__init__()
        self.embed, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.layers, self.norm = nn.ModuleList(layers), nn.LayerNorm(width)
        self.head = nn.Sequential(nn.Linear(width, HEAD_WIDTH), nn.GELU(), nn.Linear(HEAD_WIDTH, CLASSES))

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[primal.KsvdTerms]]:
        x, terms = self.embed(tokens) + self.positions.weight, []
        for layer in self.layers:
            x, of_layer = layer(x)
            if of_layer is not None:
                terms.append(of_layer)
        return self.head(self.norm(x).mean(1)), terms


def lra_model(name: str, shape: Shape, feed_forward: int, length: int) -> nn.Module:
    layers = [encoder_layer(name, shape, feed_forward, dropout=0.1, norm_first=True) for _ in range(2)]
    return LraModel(layers, shape.width, length)

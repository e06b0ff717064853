"""The matrix products of a training step of the Decision Transformer, and nothing else."""

from __future__ import annotations

import torch
from torch import Tensor

from layer_bench.decision import ACTIONS, TOKENS_OF_STEP, DecisionSizes

Product = tuple[int, int, int, int]  # how many of the same size, rows, inner, columns


def products(model: str, sizes: DecisionSizes) -> list[Product]:
    """Forward, of the encoder and its head. Behind the last layer's scores only the tokens of states are read."""
    width, heads, inner = sizes.width, sizes.heads, sizes.feed_forward
    each, pairs = width // heads, sizes.examples * heads
    found: list[Product] = []
    for number, kind in enumerate(sizes.kinds(model), 1):
        read = sizes.tokens // (TOKENS_OF_STEP if number == sizes.layers else 1)
        if kind == "primal":
            found += [(1, sizes.tokens, width, 2 * width), (2 * heads, sizes.tokens, each, sizes.rank)]
            found.append((1, heads * read, 2 * sizes.rank, each))
        else:
            found += [(1, sizes.tokens, width, 3 * width)]
            found += [(pairs, sizes.length, each, sizes.length), (pairs, sizes.length, sizes.length, each)]
        found += [(1, read, width, width), (1, read, width, inner), (1, read, inner, width)]
    return [*found, (1, sizes.tokens // TOKENS_OF_STEP, width, ACTIONS)]


class _Product:
    """With the two of its backward pass, into memory that is there."""

    def __init__(self, count: int, rows: int, inner: int, columns: int) -> None:
        self.left, self.right = torch.randn(count, rows, inner), torch.randn(count, inner, columns)
        self.out = torch.randn(count, rows, columns)
        self.grad_left, self.grad_right = torch.empty_like(self.left), torch.empty_like(self.right)

    def forward(self) -> None:
        _multiply(self.left, self.right, self.out)

    def backward(self) -> None:
        _multiply(self.out, self.right.transpose(1, 2), self.grad_left)
        _multiply(self.left.transpose(1, 2), self.out, self.grad_right)


def _multiply(left: Tensor, right: Tensor, out: Tensor) -> None:
    if len(left) == 1:
        torch.mm(left[0], right[0], out=out[0])
    else:
        torch.bmm(left, right, out=out)


class Floor:
    def __init__(self, model: str, sizes: DecisionSizes) -> None:
        self.products = [_Product(*product) for product in products(model, sizes)]

    def __call__(self) -> None:
        for product in self.products:
            product.forward()
        for product in self.products:
            product.backward()

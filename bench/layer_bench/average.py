"""primal.moving_average: each pass alone, beside plain PyTorch and a copy of the tokens."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

import primal
from layer_bench.agreement import compare

SCALES = 4
WAYS = {"causal": 1, "both ways": 2}  # directions
IMPLEMENTATIONS = {"ours": "auto", "eager": "plain"}
CHECKED_TOKENS = 500  # of one sequence: in double precision plain PyTorch takes eight times the memory of all its steps


class Average:
    """Tokens with coefficients: time scales from 1 token to the length, spread evenly on a logarithmic axis."""

    def __init__(self, batch: int, length: int, width: int, directions: int) -> None:
        torch.manual_seed(0)
        longest = torch.tensor(float(length)).log().item()
        log_scale = torch.linspace(0.0, longest, SCALES)[None, :, None].repeat(directions, 1, width)
        weight = torch.randn(directions, SCALES, width) / SCALES
        self.arguments = [torch.randn(batch, length, width), log_scale, weight, torch.randn(width)]

    def forward(self, name: str) -> Callable[[], object]:
        def run() -> None:
            with torch.no_grad():
                primal.moving_average(*self.arguments, implementation=IMPLEMENTATIONS[name])

        return run

    def backward(self, name: str) -> Callable[[], object]:
        """The backward pass alone, of one forward pass that is kept."""
        leaves = [tensor.clone().requires_grad_() for tensor in self.arguments]
        out = primal.moving_average(*leaves, implementation=IMPLEMENTATIONS[name])[0]
        root = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, leaves, root, retain_graph=True)

    def copy(self) -> Callable[[], object]:
        x = self.arguments[0]
        to = torch.empty_like(x)
        return lambda: to.copy_(x)

    def check(self) -> float:
        """Ours against plain PyTorch in double precision, on the first tokens. The largest relative error."""
        return compare("ours", self._outcome("ours", torch.float32), self._outcome("eager", torch.float64))

    def _outcome(self, name: str, dtype: torch.dtype) -> dict[str, Tensor]:
        x, *coefficients = self.arguments
        leaves = [tensor.to(dtype).requires_grad_() for tensor in (x[:1, :CHECKED_TOKENS].clone(), *coefficients)]
        out, _ = primal.moving_average(*leaves, implementation=IMPLEMENTATIONS[name])
        root = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
        gradients = torch.autograd.grad(out, leaves, root)
        names = ("x", "log_scale", "weight", "skip")
        found = {"output": out.detach()} | {f"gradient of {n}": g for n, g in zip(names, gradients, strict=True)}
        return {what: tensor.double() for what, tensor in found.items()}

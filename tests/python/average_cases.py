"""Arguments for primal.moving_average, and what it computes, token by token."""

from typing import NamedTuple

import torch
from torch import Tensor

import primal

BOTH = ("auto", "plain")  # implementations
PADDINGS = (None, "left", "right", "holes", "all")


class Arguments(NamedTuple):
    x: Tensor
    log_scale: Tensor
    weight: Tensor
    skip: Tensor | None = None
    padding: Tensor | None = None
    state: Tensor | None = None

    def run(self, implementation="auto", **changes):
        return primal.moving_average(*self._replace(**changes), implementation=implementation)

    def to(self, dtype):
        """All but the state, which is float64 whatever the tokens are."""
        changed = {n: t.to(dtype) for n, t in self.tensors().items() if t.is_floating_point() and n != "state"}
        return self._replace(**changed)

    def tensors(self):
        return {name: tensor for name, tensor in self._asdict().items() if tensor is not None}

    def leaves(self):
        """Copies that gradients can be asked of, by name."""
        made = {n: t.detach().clone().requires_grad_() for n, t in self.tensors().items() if n != "padding"}
        return self._replace(**made), made


def padding_of(kind, batch, tokens):
    """Another number of padded tokens in every sequence."""
    if kind is None:
        return None
    position, count = torch.arange(tokens)[None], (torch.arange(batch) * 7 % 5 + 1)[:, None]
    if kind == "left":
        return position < count
    if kind == "right":
        return position >= tokens - count
    return torch.rand(batch, tokens) < 0.4 if kind == "holes" else torch.ones(batch, tokens, dtype=torch.bool)


def arguments(
    batch=2, tokens=9, width=6, directions=1, scales=3, groups=None, skip=True, padding=None, state=False
) -> Arguments:
    """float64. Time scales from a fraction of a token to some tens."""
    groups = width if groups is None else groups
    normal = {"dtype": torch.float64}
    return Arguments(
        torch.randn(batch, tokens, width, **normal),
        1 + 1.5 * torch.randn(directions, scales, groups, **normal),
        torch.randn(directions, scales, width, **normal),
        torch.randn(width, **normal) if skip else None,
        padding_of(padding, batch, tokens),
        torch.randn(batch, scales, width, **normal) if state and directions == 1 else None,
    )


def loop(a: Arguments):
    """The formula, one token after another."""
    batch, tokens, width = a.x.shape
    directions, scales, groups = a.log_scale.shape
    decay = torch.exp(-torch.exp(-a.log_scale)).repeat_interleave(width // groups, 2)
    counted = torch.ones(batch, tokens, dtype=torch.bool) if a.padding is None else ~a.padding
    rows = [torch.zeros_like(a.x[:, t]) if a.skip is None else a.skip * a.x[:, t] for t in range(tokens)]
    for r in range(directions):
        m = a.x.new_zeros(batch, scales, width) if a.state is None else a.state
        for t in range(tokens) if r == 0 else reversed(range(tokens)):
            m = torch.where(counted[:, t, None, None], decay[r] * m + a.x[:, t, None], m)
            rows[t] = rows[t] + (a.weight[r] * m).sum(1)
    out = torch.stack(rows, 1) if rows else 1 * a.x
    return torch.where(counted[..., None], out, 0), m if directions == 1 else a.x.new_zeros(batch, 0, width)


def off(value, expected):
    """The largest difference, beside the largest number that is expected."""
    assert value.shape == expected.shape
    if value.numel() == 0:
        return 0.0
    difference = (value.double() - expected.double()).abs().max().item()
    return difference / max(expected.double().abs().max().item(), 1e-300) if difference else 0.0


def assert_near(values, expected, tolerance):
    for value, other in zip(values, expected, strict=True):
        assert off(value, other) <= tolerance, off(value, other)


def assert_equal(values, expected):
    for value, other in zip(values, expected, strict=True):
        assert torch.equal(value, other)


def gradients(a: Arguments, implementation="auto", roots=None):
    """By name, of <out, roots[0]> + <state, roots[1]>."""
    fresh, leaves = a.leaves()
    outputs = loop(fresh) if implementation == "loop" else fresh.run(implementation)
    if roots is None:
        roots = roots_of(a)
    total = sum((output * root.to(output.dtype)).sum() for output, root in zip(outputs, roots, strict=True))
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(leaves, found, strict=True))


def roots_of(a: Arguments):
    """A gradient for each output, the same for the same sizes."""
    batch, _, width = a.x.shape
    generator = torch.Generator().manual_seed(1)
    after = (batch, a.log_scale.shape[1] if a.log_scale.shape[0] == 1 else 0, width)
    return [torch.randn(size, dtype=torch.float64, generator=generator) for size in (a.x.shape, after)]

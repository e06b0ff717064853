"""Feature maps in plain PyTorch, [..., d] -> [..., p]: `primal.reference.cosine` and the others."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

FeatureMap = Callable[[Tensor], Tensor]


def cosine(u: Tensor) -> Tensor:
    """Unit length, so that <phi(q), phi(k)> is the cosine of q and k.

    The second derivative of a norm is NaN at 0, where no derivative of it is needed: there another vector has its."""
    zero = u.detach().norm(dim=-1, keepdim=True) == 0
    length: Tensor = u.masked_fill(zero, 1).norm(dim=-1, keepdim=True)
    return u / length.masked_fill(zero, 0).clamp_min(1e-12)


def exponential(u: Tensor) -> Tensor:
    """exp(u) scaled to unit length. The largest entry is subtracted first, so nothing overflows."""
    return cosine((u - u.amax(dim=-1, keepdim=True)).exp())


def identity(u: Tensor) -> Tensor:
    return u


def polynomial(degree: int) -> FeatureMap:
    """All monomials of the unit vector, weighted so that <phi(q), phi(k)> = cos(q, k) ** degree."""

    def weight(factors: tuple[int, ...]) -> float:
        repeats = math.prod(math.factorial(c) for c in Counter(factors).values())
        return math.sqrt(math.factorial(degree) / repeats)

    def phi(u: Tensor) -> Tensor:
        unit = cosine(u)
        monomials = list(itertools.combinations_with_replacement(range(u.shape[-1]), degree))
        product = torch.tensor([weight(factors) for factors in monomials], dtype=u.dtype, device=u.device)
        for factor in torch.tensor(monomials, device=u.device).unbind(1):
            product = product * unit.index_select(-1, factor)
        return product

    return phi


def feature_map(name: str) -> FeatureMap:
    """The map of that name, as the C++ library has it."""
    if match := re.fullmatch(r"polynomial\((\d+)\)", name):
        return polynomial(int(match[1]))
    known = {"cosine": cosine, "exponential": exponential, "identity": identity}
    if name not in known:
        raise ValueError(f"feature map {name!r} has no version in plain PyTorch; give it as a Python function")
    return known[name]

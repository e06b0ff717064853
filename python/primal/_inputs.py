"""Checks of what a caller gives. Each message names the argument under which it came."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from primal._export import is_known

Lengths = Tensor | Sequence[int]


def padding_mask(lengths: Lengths, tokens: int) -> Tensor:
    """True where token >= length. lengths: [B] integers, a tensor or a list -> [B, tokens] bool"""
    return _mask_of_lengths("padding_mask: lengths", lengths, tokens)


def size(owner: str, name: str, value: object) -> int:
    """A number of something, at least one."""
    return count(owner, name, value, least=1)


def count(owner: str, name: str, value: object, least: int = 0) -> int:
    """A number of something, perhaps none."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{owner}: {name} must be an integer, got {_kind(value)} {value!r}") from None
    if isinstance(value, bool) or number < least:
        raise ValueError(f"{owner}: {name} must be at least {least}, got {value}")
    return number


def probability(owner: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{owner}: {name} must be a number, got {_kind(value)} {value!r}")
    if not 0 <= float(value) < 1:
        raise ValueError(f"{owner}: {name} must be in [0, 1), got {value}")
    return float(value)


def flag(owner: str, name: str, value: object) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # of Python or of NumPy
        raise TypeError(f"{owner}: {name} must be True or False, got {_kind(value)} {value!r}")
    return bool(value)


def check_choice(owner: str, name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{owner}: {name} must be one of {', '.join(choices)}, got {value!r}")


def check_tensor(owner: str, name: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{owner}: {name} must be a tensor, got {_kind(x)}")
    if x.is_nested:
        raise TypeError(f"{owner}: {name} is a nested tensor; pad it and say which tokens are padded")


def check_tokens(owner: str, name: str, x: object) -> None:
    check_tensor(owner, name, x)
    if isinstance(x, Tensor) and x.dim() != 3:
        raise ValueError(f"{owner}: {name} must be [B, N, D], got {list(x.shape)}")


def check_mask(owner: str, name: str, mask: object, x: Tensor) -> None:
    """mask: [B, N] bool for x: [B, N, D]"""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{owner}: {name} must be a bool tensor, got {_kind(mask)}")
    if mask.dtype != torch.bool:
        raise TypeError(f"{owner}: {name} must be bool (True = padded), got {mask.dtype}")
    if mask.dim() != 2 or not all(_same_size(mask, x, dim) for dim in range(2)):
        raise ValueError(f"{owner}: {name} must be [B, N] = {list(x.shape[:2])}, got {list(mask.shape)}")


def one_mask(
    owner: str, x: Tensor, masks: Mapping[str, Tensor | None], lengths: Mapping[str, Lengths | None]
) -> Tensor | None:
    """The mask of the tokens x, which may come under any of these names, or as lengths."""
    given = {name: value for name, value in {**masks, **lengths}.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"{owner}: {' and '.join(given)} say the same; give one of them")
    for name, value in given.items():
        if name in lengths:
            return _mask_of_lengths(f"{owner}: {name}", value, x.shape[1], x)
        check_mask(owner, name, value, x)
        return masks[name]
    return None


def _mask_of_lengths(name: str, lengths: Lengths, tokens: int, x: Tensor | None = None) -> Tensor:
    try:
        given = torch.as_tensor(lengths, device=None if x is None or isinstance(lengths, Tensor) else x.device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} must be integers [B], got {_kind(lengths)}") from None
    if not isinstance(lengths, Tensor) and given.numel() == 0:
        given = given.long()  # of no entries PyTorch makes floats
    if given.dim() != 1 or given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
        raise ValueError(f"{name} must be integers [B], got {given.dtype} {list(given.shape)}")
    if x is not None and not _same_size(given, x, 0):
        raise ValueError(f"{name} must be [B] = [{len(x)}], got [{len(given)}]")
    # Looking at values would break a graph, and vmap has no values of one sample.
    if not torch.compiler.is_compiling() and not _is_batched(given) and given.numel() > 0:
        _check_range(name, int(given.min()), int(given.max()), tokens)
    return torch.arange(tokens, device=given.device)[None, :] >= given[:, None]


def _same_size(one: Tensor, other: Tensor, dim: int) -> bool:
    """Sizes that a graph does not know yet are compared when it runs."""
    if is_known(one.shape[dim] != other.shape[dim]):
        return False
    if torch.compiler.is_compiling():
        torch._check(one.shape[dim] == other.shape[dim])  # type: ignore[no-untyped-call]
    return True


def _is_batched(x: Tensor) -> bool:
    """Whether vmap runs over it, perhaps around a transform for derivatives."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(x):
        if functorch.is_batchedtensor(x):
            return True
        x = functorch.get_unwrapped(x)
    return False


def _check_range(name: str, low: int, high: int, tokens: int) -> None:
    if low < 0:
        raise ValueError(f"{name}: {low} is negative")
    if high > tokens:
        raise ValueError(f"{name}: {high} is above the {tokens} tokens")


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def check_state(state: Any, tokens: Tensor) -> None:
    """Of a PrimalAttention, for tokens [B, T, D]."""
    for name, part in state._asdict().items():
        dtype, sizes = (torch.int64, [0]) if name == "count" else (torch.float64, [0, 2])
        expected = [tokens.shape[i] for i in sizes]
        if part.dtype != dtype or list(part.shape) != expected or part.device != tokens.device:
            raise ValueError(
                f"primal_attention: state {name} must be {dtype} {expected} on {tokens.device}, "
                f"got {part.dtype} {list(part.shape)} on {part.device}"
            )

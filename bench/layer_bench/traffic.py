"""How many bytes the operators of a job read and write: each of its inputs and outputs once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

NO_TRAFFIC = ("aten.empty", "aten.new_empty", "aten.detach", "aten.zeros_like")


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if not func.is_view and not str(func).startswith(NO_TRAFFIC):
            tensors = [leaf for leaf in tree_leaves((args, kwargs, out)) if isinstance(leaf, torch.Tensor)]
            self.bytes += sum({t.data_ptr(): _size(t) for t in tensors}.values())
        return out


def _size(tensor: torch.Tensor) -> int:
    """An expanded tensor is read from what it was expanded from."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def bytes_of(call: Callable[[], object]) -> int:
    with _Counter() as counter:
        call()
    return counter.bytes

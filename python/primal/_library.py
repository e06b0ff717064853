"""Finds libprimal.so and loads its operators into torch.ops.primal."""

from __future__ import annotations

import os
from pathlib import Path

import torch

_PACKAGE = Path(__file__).resolve().parent


def _candidates() -> list[Path]:
    if chosen := os.environ.get("PRIMAL_LIBRARY"):
        return [Path(chosen)]
    return [_PACKAGE / "lib" / "libprimal.so", _PACKAGE.parents[1] / "build" / "release" / "libprimal.so"]


def _load() -> Path:
    for path in _candidates():
        if path.is_file():
            torch.ops.load_library(path)  # type: ignore[no-untyped-call]
            return path
    looked = ", ".join(str(p) for p in _candidates())
    raise ImportError(f"primal: libprimal.so not found; looked for {looked}")


path = _load()

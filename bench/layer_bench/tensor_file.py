"""Tensors of a safetensors file: the package of that name is there for the tests only."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import torch
from torch import Tensor

DTYPES = {"F32": torch.float32, "I64": torch.int64}  # that the programs write


def read_tensors(path: Path) -> dict[str, Tensor]:
    data = bytearray(path.read_bytes())
    (size,) = struct.unpack_from("<Q", data)
    header, begin = json.loads(data[8 : 8 + size]), 8 + size
    header.pop("__metadata__", None)
    tensors = {}
    for name, about in header.items():
        first, end = (begin + offset for offset in about["data_offsets"])
        flat = torch.frombuffer(data[first:end], dtype=DTYPES[about["dtype"]])
        tensors[name] = flat.reshape(about["shape"])
    return tensors

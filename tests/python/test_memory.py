"""Memory that is used again: results stay what they are, and it can be given back."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from pathlib import Path

import torch

import primal


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_results_survive_later_calls() -> None:
    torch.manual_seed(0)
    layer = primal.PrimalAttention(256, 4, rank=8)
    x = torch.randn(4, 1024, 256)
    kept = [layer(x * scale)[0] for scale in (1.0, 2.0)]
    copies = [out.detach().clone() for out in kept]
    for _ in range(3):
        out, terms = layer(torch.randn(4, 1024, 256, requires_grad=True))
        (out.square().mean() + primal.ksvd_loss(terms, eta=0.1)).backward()
    for out, expected in zip(kept, copies, strict=True):
        assert torch.equal(out, expected)


def test_results_are_ordinary_tensors() -> None:
    layer = primal.PrimalAttention(256, 4, rank=8).eval()
    with torch.no_grad():
        out, _ = layer(torch.randn(4, 1024, 256))
    assert torch.equal(copy.deepcopy(out), out)
    assert torch.equal(pickle.loads(pickle.dumps(out)), out)
    assert torch.equal(out.clone().share_memory_(), out)
    grown = out.clone()
    assert out.resize_(4, 2048, 256).view(-1)[: grown.numel()].equal(grown.view(-1))


def test_memory_is_given_back_on_request() -> None:
    layer = primal.PrimalAttention(512, 8, rank=8).eval()
    x = torch.randn(1, 32768, 512)
    with torch.no_grad():
        layer(x)
    gc.collect()
    before = resident_bytes()
    primal.release_memory()
    assert resident_bytes() < before - 50e6  # the output took 67 MB


SCARCE = """
import resource
from pathlib import Path
import primal
import torch

layer = primal.PrimalAttention(512, 8, rank=8).eval()
x = torch.randn(1, 65536, 512)
with torch.no_grad():
    layer(x[:, :8192])
    layer(x)  # its output, 134 MB, waits for another tensor
    now = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (now + (8 << 20), -1))
    kept = [layer(x[:, :8192])[0] for _ in range(4)]  # 17 MB each: too small for that block, too large for the rest
print(torch.stack([out.sum() for out in kept]).isfinite().all().item())
"""


def test_waiting_memory_makes_way_when_there_is_no_other() -> None:
    done = subprocess.run([sys.executable, "-c", SCARCE], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "True", done.stderr

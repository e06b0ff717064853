"""The machine as a reader of the figures needs to know it, without names or paths; and its two speed limits."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from layer_bench.timing import time_in_turn

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PRIMAL_PROGRAM", ROOT / "build" / "release" / "bin" / "primal"))
BANDWIDTH_BYTES = 1 << 27  # of each of three arrays: far above the caches
LIMIT_REPEATS = 5


def set_up(threads: int) -> None:
    """Before the first operator: threads inherit the mode."""
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)


def facts(threads: int) -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": threads,
        "torch": torch.__version__,
        "torch_cpu_target": torch.backends.cpu.get_cpu_capability(),
        "primal_cpu_target": _primal_target(),
        "python": platform.python_version(),
        "commit": _commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def limits(size: int) -> dict[str, float]:
    """The rate of one large matrix product, and of memory when two arrays are added into a third."""
    a, b, c = (torch.randn(size, size) for _ in range(3))
    numbers = min(BANDWIDTH_BYTES // 4, 32 * size * size)
    u, v, w = (torch.ones(numbers) for _ in range(3))
    calls = {"product": lambda: torch.mm(a, b, out=c), "sum": lambda: torch.add(u, v, out=w)}
    timings = time_in_turn(calls, LIMIT_REPEATS)
    return {
        "gigaflops": 2e-9 * size**3 / timings["product"].best,
        "gigabytes_per_second": 1e-9 * 3 * 4 * numbers / timings["sum"].best,
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _primal_target() -> str | None:
    """As `primal info` tells; None without the program."""
    for line in (_output([str(PROGRAM), "info"]) or "").splitlines():
        words = line.split()
        if words[1:2] == ["used"]:
            return words[0]
    return None


def _commit() -> str | None:
    commit = _output(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"])
    changed = _output(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"])
    return commit and commit.strip() + (" with changes" if changed else "")


def _output(command: list[str]) -> str | None:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return None

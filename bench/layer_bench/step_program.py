"""Programs and jobs that measure training steps, each in a process of its own, and what they find."""

from __future__ import annotations

import ctypes
import json
import resource
import statistics
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from layer_bench import machine

MOST_GIGABYTES = 12.0
SHARE_OF_FREE = 0.6
REST_GIGABYTES = 4.0  # a process may take more than a step is allowed to: what was estimated is not what comes
DOES_NOT_FIT = 3  # exit code
M_MMAP_THRESHOLD = -3  # of malloc.h


class NotMeasured(RuntimeError):
    """One line that says why."""


@dataclass(frozen=True)
class Figures:
    """Of a whole step. `share`: of the examples that were measured; the figures are scaled by it."""

    seconds: tuple[float, ...]  # of each step
    megabytes: float
    share: float = 1.0

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def memory_limit() -> float:
    """GB that a step may take: the rest of the machine goes on."""
    free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return min(MOST_GIGABYTES, SHARE_OF_FREE * int(free.split()[1]) / 2**20)


def answer_of(name: str, options: Mapping[str, object], gigabytes: float) -> dict[str, Any]:
    """What a program of the build folder says, which may take so many GB. A flag is an option that is True or False."""
    program = machine.PROGRAM.parents[1] / "bench" / name
    if not program.is_file():
        raise FileNotFoundError(f"{name} is not built: ninja -C build/release {name}")
    words = [w for option, value in options.items() if value is not False for w in (option, value) if w is not True]
    most = int(gigabytes * 2**30)
    done = subprocess.run(
        [str(program), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
    )
    if done.returncode == DOES_NOT_FIT:
        raise NotMeasured(f"does not fit into {gigabytes:.0f} GB")
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise NotMeasured(reason[0].removeprefix(f"{name}: "))
    return json.loads(done.stdout)


def seconds_of_steps(job: Callable[[], object], steps: int) -> tuple[float, ...]:
    job()
    seconds = []
    for _ in range(steps):
        start = perf_counter()
        job()
        seconds.append(perf_counter() - start)
    return tuple(seconds)


def return_freed_memory() -> None:
    """Freed blocks go back to the system at once, as the programs have it where they measure memory."""
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 64 << 10)

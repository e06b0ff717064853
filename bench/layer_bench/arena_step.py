"""One measurement of the Long Range Arena cases, in a process of its own: by bench_lra_step, or of eager PyTorch."""

from __future__ import annotations

import ctypes
import json
import resource
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from layer_bench import arena, machine
from layer_bench.memory import in_fresh_process, peak_growth
from layer_bench.sizes import Shape
from layer_bench.workloads import STEP, Workload, jobs

STEP_SECONDS = 3.0  # a step that takes longer has fewer examples
MOST_GIGABYTES = 12.0
SHARE_OF_FREE = 0.6
REST_GIGABYTES = 4.0  # a process may take more than a step is allowed to: what was estimated is not what comes
DOES_NOT_FIT = 3  # exit code
M_MMAP_THRESHOLD = -3  # of malloc.h


class NotMeasured(RuntimeError):
    """One line that says why."""


@dataclass(frozen=True)
class Step:
    """Steps that are equal take the same time: whoever has measured one need not measure the other."""

    layers: tuple[str, ...]
    length: int
    rank: int = 0  # 0: there is no primal layer
    examples: int = 1
    accumulate: int = 1
    pairs: bool = False
    plain: bool = False  # softmax with an explicit matrix
    alone: bool = False  # one encoder layer, forward and backward, instead of the model's training step


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


def program() -> Path:
    """Beside the program, in the build folder."""
    return machine.PROGRAM.parents[1] / "bench" / "bench_lra_step"


def measure(step: Step, threads: int, steps: int, step_seconds: float = STEP_SECONDS) -> Figures:
    gigabytes = memory_limit()
    arguments = {
        "--layers": ",".join(step.layers),
        "--tokens": step.length,
        "--rank": step.rank or 1,
        "--examples": step.examples,
        "--accumulate": step.accumulate,
        "--threads": threads,
        "--steps": steps,
        "--step-seconds": step_seconds,
        "--gigabytes": gigabytes,
    }
    flags = {"--pairs": step.pairs, "--plain": step.plain, "--layer": step.alone}
    command = [word for pair in arguments.items() for word in pair] + [flag for flag, wanted in flags.items() if wanted]
    made = json.loads(_output(command, gigabytes + REST_GIGABYTES))
    share = made["examples"] / step.examples
    return Figures(tuple(s / share for s in made["seconds"]), made["megabytes"] / share, share)


def memory_limit() -> float:
    """GB that a step may take: the rest of the machine goes on."""
    free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return min(MOST_GIGABYTES, SHARE_OF_FREE * int(free.split()[1]) / 2**20)


def _output(arguments: Sequence[object], gigabytes: float) -> str:
    if not program().is_file():
        raise FileNotFoundError("bench_lra_step is not built: ninja -C build/release bench_lra_step")
    most = int(gigabytes * 2**30)
    done = subprocess.run(
        [str(program()), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
    )
    if done.returncode == DOES_NOT_FIT:
        raise NotMeasured(f"does not fit into {gigabytes:.0f} GB")
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise NotMeasured(reason[0].removeprefix("bench_lra_step: "))
    return done.stdout


def measure_eager(task: arena.Task, threads: int, steps: int) -> Figures:
    """The same encoder in plain PyTorch. A pair counts as two examples: what its head does besides is not seen."""
    shape = Shape(arena.WIDTH, arena.HEADS, task.rank, min(arena.ROWS_PER_RANK * task.rank, task.length))
    sequences = task.examples * (2 if task.pairs else 1)
    workload = Workload("lra", STEP, shape, sequences, task.length, arena.FEED_FORWARD)
    seconds = in_fresh_process(_eager_seconds, workload, threads, steps)
    return Figures(tuple(task.accumulate * s for s in seconds), in_fresh_process(_eager_peak, workload, threads))


def _eager_seconds(workload: Workload, threads: int, steps: int) -> list[float]:
    machine.set_up(threads)
    job = jobs(workload, ["eager"])["eager"]
    job()
    seconds = []
    for _ in range(steps):
        start = perf_counter()
        job()
        seconds.append(perf_counter() - start)
    return seconds


def _eager_peak(workload: Workload, threads: int) -> float:
    """Freed blocks go back to the system at once, as bench_lra_step has it."""
    machine.set_up(threads)
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 64 << 10)
    return peak_growth(workload, "eager", jobs(workload, ["eager"])["eager"])

"""One measurement of the Long Range Arena cases, in a process of its own: by bench_lra_step, or of eager PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from layer_bench import arena, machine
from layer_bench.memory import in_fresh_process, peak_growth
from layer_bench.sizes import Shape
from layer_bench.step_program import (
    REST_GIGABYTES,
    Figures,
    answer_of,
    memory_limit,
    return_freed_memory,
    seconds_of_steps,
)
from layer_bench.step_program import NotMeasured as NotMeasured
from layer_bench.workloads import STEP, Workload, jobs

STEP_SECONDS = 3.0  # a step that takes longer has fewer examples


@dataclass(frozen=True)
class Step:
    """Steps that are equal take the same time: whoever has measured one need not measure the other."""

    layers: tuple[str, ...]
    length: int
    rank: int = 0  # 0: there is no primal layer
    examples: int = 1
    accumulate: int = 1
    pairs: bool = False
    softmax: str = "ours"  # or "sdpa", or "explicit": with its matrix
    alone: bool = False  # one encoder layer, forward and backward, instead of the model's training step


def measure(step: Step, threads: int, steps: int, step_seconds: float = STEP_SECONDS) -> Figures:
    gigabytes = memory_limit()
    options = {
        "--layers": ",".join(step.layers),
        "--tokens": step.length,
        "--rank": step.rank or 1,
        "--examples": step.examples,
        "--accumulate": step.accumulate,
        "--threads": threads,
        "--steps": steps,
        "--step-seconds": step_seconds,
        "--gigabytes": gigabytes,
        "--pairs": step.pairs,
        "--softmax": step.softmax,
        "--layer": step.alone,
    }
    made = answer_of("bench_lra_step", options, gigabytes + REST_GIGABYTES)
    share = made["examples"] / step.examples
    return Figures(tuple(s / share for s in made["seconds"]), made["megabytes"] / share, share)


def measure_eager(task: arena.Task, threads: int, steps: int) -> Figures:
    """The same encoder in plain PyTorch. A pair counts as two examples: what its head does besides is not seen."""
    shape = Shape(arena.WIDTH, arena.HEADS, task.rank, min(arena.ROWS_PER_RANK * task.rank, task.length))
    sequences = task.examples * (2 if task.pairs else 1)
    workload = Workload("lra", STEP, shape, sequences, task.length, arena.FEED_FORWARD)
    seconds = in_fresh_process(_eager_seconds, workload, threads, steps)
    return Figures(tuple(task.accumulate * s for s in seconds), in_fresh_process(_eager_peak, workload, threads))


def _eager_seconds(workload: Workload, threads: int, steps: int) -> tuple[float, ...]:
    machine.set_up(threads)
    return seconds_of_steps(jobs(workload, ["eager"])["eager"], steps)


def _eager_peak(workload: Workload, threads: int) -> float:
    machine.set_up(threads)
    return_freed_memory()
    return peak_growth(workload, "eager", jobs(workload, ["eager"])["eager"])

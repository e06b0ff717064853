"""The cases of the Long Range Arena: its table of time and memory for every kind of attention, and growth over N."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from layer_bench import arena, arena_step, arena_tables
from layer_bench.arena import EAGER, KINDS, MIXED, ONE_THREAD, OURS, SOFTMAX_BY, Task
from layer_bench.arena_step import Step
from layer_bench.command import say
from layer_bench.memory import ChildFailed
from layer_bench.step_program import Figures, NotMeasured, memory_limit
from layer_bench.workloads import BACKWARD

if TYPE_CHECKING:
    from layer_bench.cases import Run

LONGEST_STEP = 20.0  # s: no longer sequence is tried when it would take more
GROWTH_STEP_SECONDS = 2.0
GROWTH_RANK = 20


def table(run: Run) -> None:
    steps = min(run.repeats, run.sizes.arena_steps)

    @cache  # tasks of the same shape differ for primal layers only, by their rank
    def measured(step: Step, threads: int) -> Figures:
        return arena_step.measure(step, threads, steps)

    for task in arena.tasks(run.sizes):
        say(f"lra-table: {task.name}, {task} tokens ...")
        for subject in (*KINDS, EAGER, *([ONE_THREAD] if run.threads > 1 else [])):
            try:
                if subject == EAGER:
                    figures = arena_step.measure_eager(task, run.threads, steps)
                else:
                    threads = 1 if subject == ONE_THREAD else run.threads
                    figures = measured(step_of(task, OURS if subject == ONE_THREAD else subject), threads)
            except (NotMeasured, ChildFailed) as error:
                run.notes.append(f"{task.name}: no figures of {subject}: {error}")
                continue
            run.add_step("lra-table", task.name, f"{task.name}, memory", task.length, subject, figures, task.tokens)
    run.about["rows"] = arena_tables.rows(run.measurements)


def step_of(task: Task, subject: str) -> Step:
    layers = KINDS[subject]
    rank = task.mixed_rank if subject == MIXED else task.rank if "primal" in layers else 0
    softmax = SOFTMAX_BY.get(subject, "ours")
    return Step(layers, task.length, rank, task.examples, task.accumulate, task.pairs, softmax)


def growth(run: Run) -> None:
    """One sequence through one encoder layer. A kind is left out from where a step would take too long or too much."""
    for subject, layers in KINDS.items():
        if subject == MIXED:
            continue
        say(f"lra-growth: {subject} ...")
        for length, figures in _grown(run, subject, layers[0]):
            run.add_step("lra-growth", BACKWARD, "memory", length, subject, figures, length)


def _grown(run: Run, subject: str, kind: str) -> Iterator[tuple[int, Figures]]:
    seconds: list[float] = []
    megabytes: list[float] = []
    for length in run.sizes.arena_growth:
        reason = _too_much(_next(seconds), _next(megabytes))
        try:
            if reason:
                raise NotMeasured(reason)
            rank = GROWTH_RANK if kind == "primal" else 0
            step = Step((kind,), length, rank, softmax=SOFTMAX_BY.get(subject, "ours"), alone=True)
            figures = arena_step.measure(step, run.threads, run.sizes.arena_steps, GROWTH_STEP_SECONDS)
        except NotMeasured as error:
            run.notes.append(f"{subject} ends before N={length}: {error}")
            return
        seconds.append(figures.best)
        megabytes.append(figures.megabytes)
        yield length, figures


def _next(values: list[float]) -> float:
    """What twice the length will take: as much more as the last time, at least twice and at most four times as much."""
    if not values:
        return 0.0
    factor = values[-1] / max(values[-2], 1e-9) if len(values) > 1 else 4.0
    return values[-1] * min(max(factor, 2.0), 4.0)


def _too_much(seconds: float, megabytes: float) -> str:
    if seconds > LONGEST_STEP:
        return f"about {seconds:.0f} s"
    gigabytes = megabytes / 1024
    return f"about {gigabytes:.0f} GB" if gigabytes > memory_limit() else ""

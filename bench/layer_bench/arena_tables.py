"""The Long Range Arena cases as text, and as rows of the JSON file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from layer_bench.arena import (
    EAGER,
    LAYER_TITLES,
    ONE_THREAD,
    OURS,
    PLAIN,
    PUBLISHED_MEMORY_FACTORS,
    PUBLISHED_TIME_FACTORS,
    SOFTMAX,
    TASKS,
    TITLES,
    published,
)
from layer_bench.results import MEGABYTES, SECONDS, Measurement, quotient

FACTORS = f"{'explicit':>9}{'SDPA':>9}{'published':>10}"


def rows(measurements: Iterable[Measurement]) -> list[dict[str, Any]]:
    """A row for each task and subject. A factor is how many times softmax takes of what the subject takes."""
    found = {(m.what, m.subject): m for m in measurements}
    made = []
    for task in (task.name for task in TASKS):
        peaks = {subject: m for (what, subject), m in found.items() if what == f"{task}, memory"}
        for (what, subject), time in found.items():
            if what != task:
                continue
            peak = peaks[subject]
            row = {
                "task": task,
                "subject": subject,
                "tokens": time.tokens,
                "seconds_per_1000_steps": 1000 * time.median,
                "megabytes": peak.median,
                "steps": time.repeats,
                "share": time.share,
                "published_time_factor": published(PUBLISHED_TIME_FACTORS, task, subject),
                "published_memory_factor": published(PUBLISHED_MEMORY_FACTORS, task, subject),
            }
            for name, softmax in (("explicit", PLAIN), ("sdpa", SOFTMAX)):
                row[f"time_factor_{name}"] = _factor(found.get((task, softmax)), time)
                row[f"memory_factor_{name}"] = _factor(peaks.get(softmax), peak)
            made.append(row)
    return made


def _factor(softmax: Measurement | None, own: Measurement) -> float | None:
    return quotient(softmax and softmax.median, own.median)


def table(measurements: Iterable[Measurement], notes: Iterable[str]) -> str:
    lines = [
        "lra-table: training steps of the Long Range Arena model, and how many times as much softmax takes: with an",
        "  explicit N x N matrix, by blocks (SDPA), and the published softmax of what was published",
    ]
    made = rows(measurements)
    for task in dict.fromkeys(row["task"] for row in made):
        of_task = [row for row in made if row["task"] == task]
        lines.append(f"{task:<32}{'s/1000 steps':>14}{FACTORS}{'MB':>10}{FACTORS}  from")
        lines += [_line(row) for row in of_task]
        lines += _beside(of_task)
    return "\n".join([*lines, *(f"  note: {note}" for note in notes)]) + "\n"


def _line(row: dict[str, Any]) -> str:
    name = TITLES.get(row["subject"], row["subject"])
    cells = ""
    for what, value in (("time", row["seconds_per_1000_steps"]), ("memory", row["megabytes"])):
        cells += f"{value:>14.1f}" if what == "time" else f"{value:>10.0f}"
        cells += f"{_times(row[f'{what}_factor_explicit']):>9}{_times(row[f'{what}_factor_sdpa']):>9}"
        cells += f"{_times(row[f'published_{what}_factor'], digits=1):>10}"
    origin = f"{row['steps']} steps" if row["steps"] > 1 else "1 step"
    scaled = f", 1/{1 / row['share']:.0f} of the batch, scaled" if row["share"] < 1 else ""
    return f"  {name:<30}{cells}  {origin}{scaled}"


def _beside(of_task: list[dict[str, Any]]) -> Iterable[str]:
    by_subject = {row["subject"]: row for row in of_task}
    ours = by_subject.get(OURS)
    if ours is None:
        return
    if eager := by_subject.get(EAGER):
        time, memory = (eager[key] / ours[key] for key in ("seconds_per_1000_steps", "megabytes"))
        yield f"  PrimalFormer beside eager PyTorch: {time:.2f} times as fast, {memory:.2f} times less memory"
    if alone := by_subject.get(ONE_THREAD):
        factor = alone["seconds_per_1000_steps"] / ours["seconds_per_1000_steps"]
        yield f"  PrimalFormer, all threads beside one: {factor:.2f} times as fast"


def _times(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def growth_table(measurements: Iterable[Measurement], notes: Iterable[str]) -> str:
    """A block for time and one for memory: a row per kind, a column per length."""
    found = list(measurements)
    lengths = sorted({m.length for m in found})
    lines = []
    for unit, shown_as, scale in ((SECONDS, "ms", 1000), (MEGABYTES, "MB", 1)):
        shown = [m for m in found if m.unit == unit]
        cells = {(m.subject, m.length): f"{scale * m.best:.1f}" for m in shown}
        title = f"lra-growth: forward+backward, {shown_as}"
        lines.append(f"{title:<36}" + "".join(f"{f'N={n}':>10}" for n in lengths))
        for subject in dict.fromkeys(m.subject for m in shown):
            values = "".join(f"{cells.get((subject, n), '-'):>10}" for n in lengths)
            lines.append(f"  {LAYER_TITLES.get(subject, subject):<34}{values}")
    return "\n".join([*lines, *(f"  note: {note}" for note in notes)]) + "\n"

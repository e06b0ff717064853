"""Subjects that take turns, each measurement in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from layer_bench.memory import ChildFailed
from layer_bench.step_program import Figures, NotMeasured

if TYPE_CHECKING:
    from layer_bench.cases import Run

Made = TypeVar("Made")


def in_turn(run: Run, model: str, calls: Mapping[str, Callable[[], Figures]], rounds: int) -> dict[str, Figures]:
    """The figures of all rounds together, by subject."""
    found: dict[str, list[Figures]] = {subject: [] for subject in calls}
    for _ in range(rounds):
        for subject, call in calls.items():
            figures = attempt(run, f"{model}: {subject}", call)
            found[subject] += [] if figures is None else [figures]
    return {
        subject: Figures(tuple(s for one in made for s in one.seconds), max(one.megabytes for one in made))
        for subject, made in found.items()
        if made
    }


def attempt(run: Run, name: str, call: Callable[[], Made]) -> Made | None:
    """None, and a note, of what cannot be measured."""
    try:
        return call()
    except (NotMeasured, ChildFailed) as error:
        run.notes.append(f"{name}: not measured: {error}")
        return None

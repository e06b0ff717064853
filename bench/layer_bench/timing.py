"""Times several things in turn: A once, B once, ..., and again. What slows the machine slows all of them alike."""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

SHORTEST = 0.01  # s: quicker calls are repeated within a sample until it lasts as long
SLOW = 2.0  # s: calls above this are measured SLOW_REPEATS times at most
SLOW_REPEATS = 3

Call = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    samples: tuple[float, ...]  # seconds per call

    @property
    def best(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


def time_in_turn(
    calls: Mapping[str, Call], repeats: int, prepare: Callable[[str], None] | None = None
) -> dict[str, Timing]:
    """`prepare`, if given, is called with a name before each of its samples, outside of the time."""
    if prepare is None:

        def prepare(name: str) -> None:
            pass

    per_sample, rounds = {}, {}
    for name, call in calls.items():
        prepare(name)
        call()  # pages, threads, code of the first call
        lasted = _sample(call, 1)
        per_sample[name] = max(1, math.ceil(SHORTEST / lasted))
        rounds[name] = min(repeats, SLOW_REPEATS) if lasted > SLOW else repeats
    samples: dict[str, list[float]] = {name: [] for name in calls}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for i in range(repeats):
            for name, call in calls.items():
                if i < rounds[name]:
                    prepare(name)
                    samples[name].append(_sample(call, per_sample[name]))
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(tuple(values)) for name, values in samples.items()}


def _sample(call: Call, count: int) -> float:
    start = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - start) / count

"""What we want to reach, judged on the best of the repeats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from layer_bench import arena, decision, language
from layer_bench.results import SECONDS, Results, quotient

LONG = 8192  # the length at which softmax attention must be far behind


@dataclass(frozen=True)
class Goal:
    case: str
    name: str
    relation: str  # "<=" or ">="
    limit: float
    value: float | None

    @property
    def status(self) -> str:
        if self.value is None:
            return "not measured"
        reached = self.value <= self.limit if self.relation == "<=" else self.value >= self.limit
        return "pass" if reached else "miss"

    def as_dict(self) -> dict[str, object]:
        return {**vars(self), "status": self.status}


def goals(results: Results) -> list[Goal]:
    """Of the cases that were run."""
    return [goal for case in results.cases for goal in GOALS[case](results)]


def _layer(results: Results) -> Iterator[Goal]:
    wanted = {"forward": (1.15, 1.4, 1.15), "forward+backward": (1.20, 1.6, 1.25)}
    for what, (floor, eager, compiled) in wanted.items():
        for length in results.lengths("layer", what):
            place = ("layer", what, length)
            name = f"{what}, N={length}:"
            yield Goal("layer", f"{name} time over floor", "<=", floor, results.ratio(*place, "ours", "floor"))
            if what == "forward+backward":
                share = results.ratio(*place, "ours", "products")
                yield Goal("layer", f"{name} time over all products", "<=", floor, share)
            yield Goal("layer", f"{name} faster than eager", ">=", eager, results.ratio(*place, "eager", "ours"))
            faster = results.ratio(*place, "compile", "ours")
            yield Goal("layer", f"{name} faster than torch.compile", ">=", compiled, faster)
            if length == LONG:
                faster = results.ratio(*place, "softmax", "ours")
                yield Goal("layer", f"{name} faster than softmax", ">=", 12, faster)


def _none(results: Results) -> Iterator[Goal]:
    yield from ()


def _lra(results: Results) -> Iterator[Goal]:
    for length in results.lengths("lra", "training step"):
        faster = results.ratio("lra", "training step", length, "eager", "ours")
        yield Goal("lra", f"training step, N={length}: faster than eager", ">=", 3, faster)


def _late_over_early(results: Results, case: str, what: str, first: int, last: int) -> float | None:
    early, late = (results.find(case, what, position, "ours") for position in (first, last))
    return quotient(late and late.best, early and early.best)


def _decode(results: Results) -> Iterator[Goal]:
    positions = results.lengths("decode", "token")
    if not positions:
        return
    first, last = positions[0], positions[-1]
    for what, name in (("token", "time"), ("state", "memory")):
        value = _late_over_early(results, "decode", what, first, last)
        yield Goal("decode", f"{name} per token at {last} over {first}", "<=", 1.1 if what == "token" else 1, value)
    faster = results.ratio("decode", "token", last, "softmax", "ours")
    yield Goal("decode", f"token at {last}: faster than softmax with cache", ">=", 20, faster)


def _moving_average(results: Results) -> Iterator[Goal]:
    case = "moving-average"
    for way in ("causal", "both ways"):
        for length in results.lengths(case, f"{way}, forward"):
            place = (case, f"{way}, forward", length)
            share = results.ratio(*place, "ours", "copy")
            yield Goal(case, f"{way}, N={length}: forward over a copy", "<=", 1.5, share)
            forward, backward = results.find(*place, "ours"), results.find(case, f"{way}, backward", length, "ours")
            share = quotient(backward and backward.best, forward and forward.best)
            yield Goal(case, f"{way}, N={length}: backward over forward", "<=", 3, share)


def _memory(results: Results) -> Iterator[Goal]:
    for what in ("layer", "encoder", "LRA model"):
        for length in results.lengths("memory", what):
            share = results.ratio("memory", what, length, "ours", "eager")
            yield Goal("memory", f"{what}, N={length}: peak over eager's", "<=", 0.5, share)


def _growth(case: str, results: Results) -> Iterator[Goal]:
    for what in dict.fromkeys(m.what for m in results.measurements if m.case == case and m.unit == SECONDS):
        lengths = results.lengths(case, what)
        found = [m for m in (results.find(case, what, n, "ours") for n in lengths) if m is not None]
        per_token = [m.best / m.tokens for m in found]
        value = max(per_token) / min(per_token) if len(per_token) > 1 else None
        yield Goal(case, f"{what}: time per token, slowest over quickest N", "<=", 1.1, value)


def _no_slower(case: str, results: Results) -> Iterator[Goal]:
    for what in ("forward", "forward+backward"):
        for length in results.lengths(case, what):
            share = results.ratio(case, what, length, "ours", "eager")
            yield Goal(case, f"{what}, N={length}: time over eager's", "<=", 1, share)


def _threads(results: Results) -> Iterator[Goal]:
    counts = results.lengths("threads", "forward+backward")
    if 2 in counts:
        one, two = (results.find("threads", "forward+backward", count, "ours") for count in (1, 2))
        value = quotient(one and one.best, two and two.best)
        yield Goal("threads", "2 threads faster than 1", ">=", 1.8, value)


def _epoch(results: Results) -> Iterator[Goal]:
    faster = results.ratio("epoch", "JapaneseVowels", 0, "eager", "ours")
    yield Goal("epoch", "training epoch: faster than eager", ">=", 2, faster)


def _lra_table(results: Results) -> Iterator[Goal]:
    """The published factors of the PrimalFormer, and what `lra` and `threads` want."""
    for task in arena.TASKS:
        for length in results.lengths("lra-table", task.name):
            time, memory = ("lra-table", task.name, length), ("lra-table", f"{task.name}, memory", length)
            for place, factors, what in (
                (time, arena.PUBLISHED_TIME_FACTORS, "faster than"),
                (memory, arena.PUBLISHED_MEMORY_FACTORS, "less memory than"),
            ):
                wanted = arena.published(factors, task.name, arena.OURS)
                value = results.ratio(*place, arena.PLAIN, arena.OURS)
                yield Goal("lra-table", f"{task.name}: {what} explicit softmax", ">=", wanted, value)
            faster = results.ratio(*time, arena.EAGER, arena.OURS)
            yield Goal("lra-table", f"{task.name}: faster than eager", ">=", 3, faster)
            faster = results.ratio(*time, arena.ONE_THREAD, arena.OURS)
            yield Goal("lra-table", f"{task.name}: all threads faster than 1", ">=", 1.8, faster)


def _language_step(results: Results) -> Iterator[Goal]:
    case = "language-step"
    for model, wanted in ((language.PRIMAL_FORMER, 1.8), (language.MIXED, 1.4)):
        for length in results.lengths(case, model):
            faster = results.ratio(case, model, length, "eager", "ours")
            yield Goal(case, f"{model}: faster than eager", ">=", wanted, faster)
            share = results.ratio(case, f"{model}, memory", length, "ours", "eager")
            yield Goal(case, f"{model}: peak over eager's", "<=", 0.5, share)


def _generation(results: Results) -> Iterator[Goal]:
    case, positions = "generation", results.lengths("generation", "next token")
    if not positions:
        return
    first, last = positions[0], positions[-1]
    value = _late_over_early(results, case, "next token", first, last)
    yield Goal(case, f"time per token after {last} over {first}", "<=", 1.1, value)
    state = results.find(case, "state", last, "ours")
    yield Goal(case, f"kB of the state after {last} tokens", "<=", 50, state and 1024 * state.best)
    compared = [p for p in positions if results.find(case, "next token", p, "softmax")]
    for position in compared[-1:]:
        faster = results.ratio(case, "next token", position, "softmax", "ours")
        yield Goal(case, f"token after {position}: faster than softmax with cache", ">=", 10, faster)
    for length in results.lengths(case, "prompt"):
        share = results.ratio(case, "prompt", length, "ours", "pass")
        yield Goal(case, f"prompt of {length} tokens over a forward pass", "<=", 1.1, share)


def _decision_step(results: Results) -> Iterator[Goal]:
    case, model = "decision-step", decision.MIXED
    for length in results.lengths(case, model):
        faster = results.ratio(case, model, length, "eager", "ours")
        yield Goal(case, f"{model}: faster than eager", ">=", 1.5, faster)
        share = results.ratio(case, f"{model}, memory", length, "ours", "eager")
        yield Goal(case, f"{model}: peak over eager's", "<=", 0.6, share)


def _rollouts(results: Results) -> Iterator[Goal]:
    case, what = "rollouts", f"{decision.MIXED}, {decision.WINDOW}"
    for episodes in results.lengths(case, what):
        place = (case, what, episodes)
        faster = results.ratio(*place, "eager", "ours")
        yield Goal(case, f"{episodes} episodes: faster than eager", ">=", 3, faster)
        share = results.ratio(*place, "environment", "ours")
        yield Goal(case, f"{episodes} episodes: the environment's share of the time", "<=", 0.2, share)


def _busy(results: Results) -> Iterator[Goal]:
    slower = results.ratio("busy", "JapaneseVowels", 0, "beside", "ours")
    yield Goal("busy", "training beside two busy processes: time over that on a quiet machine", "<=", 2.5, slower)


GOALS = {
    "layer": _layer,
    "encoder": _none,
    "lra": _lra,
    "bfloat16": partial(_no_slower, "bfloat16"),
    "decode": _decode,
    "moving-average": _moving_average,
    "memory": _memory,
    "same-tokens": partial(_growth, "same-tokens"),
    "growth": partial(_growth, "growth"),
    "wide-growth": partial(_growth, "wide-growth"),
    "small": partial(_no_slower, "small"),
    "threads": _threads,
    "epoch": _epoch,
    "lra-table": _lra_table,
    "lra-growth": _none,
    "language-step": _language_step,
    "generation": _generation,
    "decision-step": _decision_step,
    "rollouts": _rollouts,
    "busy": _busy,
}

"""The cases: each measures, and notes what a reader should know."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from layer_bench import agreement, arena_cases, average, busy, decision_cases, decode, epoch, language_cases, memory
from layer_bench.results import MEGABYTES, SECONDS, Measurement
from layer_bench.sizes import Shape, Sizes
from layer_bench.step_program import Figures
from layer_bench.subjects import floor_operations
from layer_bench.timing import Timing, time_in_turn
from layer_bench.traffic import bytes_of
from layer_bench.workloads import BACKWARD, FORWARD, STEP, Workload, jobs

ROOFLINE = ("floor", "ours", "eager")


@dataclass
class Run:
    """Options of a run, and what the case that runs now has found."""

    sizes: Sizes
    repeats: int
    threads: int
    measurements: list[Measurement] = field(default_factory=list)
    roofline: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)  # what else the JSON file says of the case
    worst_error: float = 0.0

    def add_times(self, case: str, what: str, length: int, timings: Mapping[str, Timing], tokens: int = 1) -> None:
        for name, timing in timings.items():
            figures = (timing.best, timing.median, len(timing.samples))
            self.measurements.append(Measurement(case, what, length, name, SECONDS, *figures, tokens))

    def add_memory(self, case: str, what: str, length: int, subject: str, megabytes: float, tokens: int = 1) -> None:
        self.measurements.append(Measurement(case, what, length, subject, MEGABYTES, megabytes, megabytes, 1, tokens))

    def add_step(
        self, case: str, time: str, memory: str, length: int, subject: str, figures: Figures, tokens: int
    ) -> None:
        """time, memory: under which names."""
        times = (figures.best, figures.median, len(figures.seconds))
        peak = (figures.megabytes, figures.megabytes, 1)
        self.measurements += [
            Measurement(case, time, length, subject, SECONDS, *times, tokens, figures.share),
            Measurement(case, memory, length, subject, MEGABYTES, *peak, tokens, figures.share),
        ]

    def prepared(
        self, workload: Workload, names: Iterable[str], *, checked: bool = False
    ) -> dict[str, Callable[[], object]]:
        """Jobs that agree. One that torch.compile cannot compile here is left out.

        `checked`: the same sizes have been checked in another mode, or the same layer at another length.
        """
        torch.compiler.reset()  # it keeps what it compiled for other sizes, and gives up after a few
        made = jobs(workload, names)
        if "compile" in made:
            # Before a check no training step: it would change the parameters.
            attempt = made["compile"] if checked else partial(agreement.outcome, made["compile"])
            if not self._runs(attempt):
                del made["compile"]
        if not checked:
            agreed = agreement.check(made)
            self.worst_error = max(self.worst_error, agreed.worst)
            self.notes += [f"{workload.mode}, N={workload.length}: {note}" for note in agreed.notes]
        return made

    def _runs(self, attempt: Callable[[], object]) -> bool:
        try:
            attempt()
        except Exception as error:  # no compiler, no header files, ...: told, not fatal
            reason = f"torch.compile failed: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
            if reason not in self.notes:
                self.notes.append(reason)
            return False
        return True


def layer(run: Run) -> None:
    sizes = run.sizes
    for mode in (FORWARD, BACKWARD, STEP):
        for length in sizes.lengths if mode != STEP else (sizes.middle,):
            workload = Workload("layer", mode, sizes.shape, sizes.tokens // length, length)
            floors = ["floor", *(["products"] if mode == BACKWARD else [])] if mode != STEP else []
            compiled = ["compile"] if length in sizes.compiled_lengths and (mode != STEP or sizes.compiled) else []
            names = [*floors, "ours", "eager", *compiled, "softmax", "linear"]
            made = run.prepared(workload, names, checked=mode == STEP)
            timings = time_in_turn(made, run.repeats)
            run.add_times("layer", mode, length, timings, workload.tokens)
            if mode != STEP:
                _add_to_roofline(run, workload, made, timings)


def _add_to_roofline(
    run: Run, workload: Workload, made: Mapping[str, Callable[[], object]], timings: Mapping[str, Timing]
) -> None:
    """The useful work is the same for all; what differs is the time it takes and the memory that is touched."""
    work = floor_operations(workload.shape, workload.tokens, backward=workload.mode != FORWARD)
    for name in ROOFLINE:
        run.roofline.append(
            {
                "what": workload.mode,
                "length": workload.length,
                "subject": name,
                "gigaflops": 1e-9 * work / timings[name].best,
                "intensity": work / bytes_of(made[name]),
            }
        )


def encoder(run: Run) -> None:
    sizes = run.sizes
    names = ["ours", "eager", *(["compile"] if sizes.compiled else []), "softmax", "linear"]
    for mode in (FORWARD, BACKWARD, STEP):
        batch = max(1, sizes.tokens // sizes.middle)
        workload = Workload("encoder", mode, sizes.shape, batch, sizes.middle, sizes.feed_forward)
        timings = time_in_turn(run.prepared(workload, names, checked=mode == STEP), run.repeats)
        run.add_times("encoder", mode, sizes.middle, timings, workload.tokens)


def bfloat16(run: Run) -> None:
    """One sequence: without instructions for bfloat16 PyTorch takes seconds for it."""
    for mode in (FORWARD, BACKWARD):
        workload = Workload("layer", mode, run.sizes.shape, 1, run.sizes.middle, dtype=torch.bfloat16)
        made = run.prepared(workload, ["ours", "eager", "softmax", "linear"])
        timings = time_in_turn(made, run.repeats)
        run.add_times("bfloat16", mode, workload.length, timings, workload.tokens)


def lra_workload(sizes: Sizes, mode: str) -> Workload:
    return Workload("lra", mode, sizes.lra, sizes.lra_batch, sizes.lra_length, sizes.lra_feed_forward)


def lra(run: Run) -> None:
    workload = lra_workload(run.sizes, STEP)
    names = ["ours", "eager", *(["compile"] if run.sizes.compiled else []), "softmax", "linear"]
    timings = time_in_turn(run.prepared(workload, names), run.repeats)
    run.add_times("lra", STEP, workload.length, timings, workload.tokens)


def decoding(run: Run) -> None:
    sizes, batch = run.sizes, run.sizes.decode_batch
    torch.manual_seed(0)
    ours = decode.OurDecoder(sizes.shape, batch)
    eager = decode.EagerDecoder(ours.layer)
    softmax = decode.SoftmaxDecoder(sizes.shape, batch, max(sizes.decode_positions) + 1)
    decoders = {"ours": ours, "eager": eager, "softmax": softmax, "linear": decode.LinearDecoder(sizes.shape, batch)}
    run.worst_error = max(run.worst_error, decode.check(ours, eager, sizes.shape))
    x = torch.randn(batch, 1, sizes.shape.width)
    states: dict[int, Any] = {}
    for position in sizes.decode_positions:
        ours.move_to(position)
        states[position] = ours.state

    def prepare(name: str) -> None:
        kind, position = name.rsplit(" ", 1)
        if kind == "ours":
            ours.state = states[int(position)]
        elif kind == "eager":
            eager.take(states[int(position)])
        else:
            decoders[kind].move_to(int(position))

    calls = {
        f"{name} {position}": lambda decoder=decoder: decoder.step(x)
        for position in sizes.decode_positions
        for name, decoder in decoders.items()
    }
    timings = time_in_turn(calls, run.repeats, prepare)
    for position in sizes.decode_positions:
        here = {name: timings[f"{name} {position}"] for name in decoders}
        run.add_times("decode", "token", position, here, batch)
        for name, decoder in decoders.items():
            prepare(f"{name} {position}")
            run.add_memory("decode", "state", position, name, decoder.state_bytes() / 2**20, batch)


def moving_average(run: Run) -> None:
    """Forward and backward in turn with a copy, so that each can be judged by the other."""
    for batch, length in run.sizes.averages:
        for way, directions in average.WAYS.items():
            made = average.Average(batch, length, run.sizes.shape.width, directions)
            run.worst_error = max(run.worst_error, made.check())
            forward = {"copy": made.copy(), "ours": made.forward("ours"), "eager": made.forward("eager")}
            backward = {"ours": made.backward("ours")}
            if batch * length <= run.sizes.averages_kept:
                backward["eager"] = made.backward("eager")
            calls = {(FORWARD, name): call for name, call in forward.items()}
            calls |= {("backward", name): call for name, call in backward.items()}
            timings = time_in_turn(calls, run.repeats)
            for what in (FORWARD, "backward"):
                here = {name: timing for (kind, name), timing in timings.items() if kind == what}
                run.add_times("moving-average", f"{way}, {what}", length, here, batch * length)


def peak_memory(run: Run) -> None:
    sizes = run.sizes
    plain = ("ours", "eager", "softmax", "linear")
    for length in sizes.lengths:
        compiled = ["compile"] if sizes.compiled else []
        workload = Workload("layer", BACKWARD, sizes.shape, sizes.tokens // length, length)
        _add_peaks(run, "memory", "layer", workload, [*plain, *compiled])
    batch = max(1, sizes.tokens // sizes.middle)
    workload = Workload("encoder", BACKWARD, sizes.shape, batch, sizes.middle, sizes.feed_forward)
    _add_peaks(run, "memory", "encoder", workload, plain)
    _add_peaks(run, "memory", "LRA model", lra_workload(sizes, BACKWARD), plain)


def _add_peaks(run: Run, case: str, what: str, workload: Workload, names: Iterable[str]) -> None:
    for name in names:
        peak = _peak(run, workload, name)
        if peak is not None:
            run.add_memory(case, what, workload.length, name, peak, workload.tokens)


def _peak(run: Run, workload: Workload, name: str) -> float | None:
    try:
        return memory.peak_megabytes(workload, name, run.threads)
    except memory.ChildFailed as error:
        run.notes.append(f"{workload.kind}, N={workload.length}: no peak memory of {name}: {error}")
        return None


def same_tokens(run: Run) -> None:
    """What the length of a sequence costs, apart from what a call costs: the shortest and the longest in turn.

    The layer is checked by `layer`, `growth` and `wide-growth`.
    """
    lengths = run.sizes.growth
    for shape in (run.sizes.lra, run.sizes.shape):
        for mode in (FORWARD, BACKWARD):
            workloads = {n: Workload("layer", mode, shape, lengths[-1] // n, n) for n in (lengths[0], lengths[-1])}
            made = {str(n): run.prepared(w, ["ours"], checked=True)["ours"] for n, w in workloads.items()}
            timings = time_in_turn(made, run.repeats)
            for n, workload in workloads.items():
                what = f"{mode}, D={shape.width}"
                run.add_times("same-tokens", what, n, {"ours": timings[str(n)]}, workload.tokens)


def growth(run: Run) -> None:
    _grow(run, "growth", run.sizes.lra, run.sizes.growth_softmax)


def wide_growth(run: Run) -> None:
    """Checked at the shortest length only: in double precision the longest takes minutes."""
    _grow(run, "wide-growth", run.sizes.shape, 0, checked_up_to=run.sizes.growth[0])


def _grow(run: Run, case: str, shape: Shape, softmax_up_to: int, checked_up_to: float = math.inf) -> None:
    for length in run.sizes.growth:
        names = ["ours", "eager", *(["softmax"] if length <= softmax_up_to else []), "linear"]
        for mode in (FORWARD, BACKWARD):
            workload = Workload("layer", mode, shape, 1, length)
            made = run.prepared(workload, names, checked=length > checked_up_to)
            timings = time_in_turn(made, run.repeats)
            run.add_times(case, mode, length, timings, length)
        _add_peaks(run, case, "memory", Workload("layer", BACKWARD, shape, 1, length), names)


def small(run: Run) -> None:
    length = min(32, run.sizes.lra_length)
    for mode in (FORWARD, BACKWARD):
        workload = Workload("layer", mode, run.sizes.lra, 1, length)
        timings = time_in_turn(run.prepared(workload, ["ours", "eager", "softmax", "linear"]), run.repeats)
        run.add_times("small", mode, length, timings, length)


def threads(run: Run) -> None:
    if run.threads < 2:
        run.notes.append("one thread asked for: nothing to compare")
        return
    sizes = run.sizes
    workload = Workload("layer", BACKWARD, sizes.shape, sizes.tokens // sizes.middle, sizes.middle)
    made = run.prepared(workload, ["floor", "ours", "eager"])
    calls = {f"{name} {count}": job for count in (1, run.threads) for name, job in made.items()}

    def prepare(name: str) -> None:
        """The first call after a change starts or stops threads."""
        torch.set_num_threads(int(name.rsplit(" ", 1)[1]))
        calls[name]()

    try:
        timings = time_in_turn(calls, run.repeats, prepare)
    finally:
        torch.set_num_threads(run.threads)
    for count in (1, run.threads):
        run.add_times("threads", BACKWARD, count, {n: timings[f"{n} {count}"] for n in made}, workload.tokens)


def training_epoch(run: Run) -> None:
    seconds, peaks = epoch.measure(run.sizes.epochs, run.sizes.epoch_rounds, run.threads)
    for name, values in seconds.items():
        figures = (min(values), statistics.median(values), len(values))
        run.measurements.append(Measurement("epoch", epoch.SET, 0, name, SECONDS, *figures))
    for name, peak in peaks.items():
        run.add_memory("epoch", f"{epoch.SET}, memory", 0, name, peak)


def beside_others(run: Run) -> None:
    for name, values in busy.measure(run.sizes.epochs, run.sizes.epoch_rounds, run.threads).items():
        figures = (min(values), statistics.median(values), len(values))
        run.measurements.append(Measurement("busy", busy.SET, 0, name, SECONDS, *figures))


FUNCTIONS: dict[str, Callable[[Run], None]] = {
    "layer": layer,
    "encoder": encoder,
    "lra": lra,
    "bfloat16": bfloat16,
    "decode": decoding,
    "moving-average": moving_average,
    "memory": peak_memory,
    "same-tokens": same_tokens,
    "growth": growth,
    "wide-growth": wide_growth,
    "small": small,
    "threads": threads,
    "epoch": training_epoch,
    "lra-table": arena_cases.table,
    "lra-growth": arena_cases.growth,
    "language-step": language_cases.training_step,
    "generation": language_cases.generation,
    "decision-step": decision_cases.training_step,
    "rollouts": decision_cases.rollouts,
    "busy": beside_others,
}

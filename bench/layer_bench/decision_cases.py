"""The cases of offline reinforcement learning: a training step, and episodes that are played."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from layer_bench import decision_rollouts, decision_step
from layer_bench.command import say
from layer_bench.decision import EPISODE, MIXED, MODELS, PRIMAL_FORMER, TIME_LIMIT, WINDOW
from layer_bench.decision_rollouts import Played
from layer_bench.rounds import attempt, in_turn
from layer_bench.step_program import NotMeasured
from layer_bench.timing import Timing

if TYPE_CHECKING:
    from layer_bench.cases import Run

BATCHES = 10  # that are timed
PLAYED = ((MIXED, WINDOW), (PRIMAL_FORMER, WINDOW), (PRIMAL_FORMER, EPISODE))


def training_step(run: Run) -> None:
    sizes = run.sizes.decision
    run.worst_error = max(decision_step.check(model) for model in MODELS)
    steps = min(run.repeats, sizes.steps)
    batches = decision_step.measure_batches(MIXED, sizes, run.threads, BATCHES)
    run.add_times("decision-step", "making a batch", sizes.length, {"ours": Timing(batches.seconds)}, sizes.tokens)
    subjects = {
        "ours": decision_step.measure,
        "eager": decision_step.measure_eager,
        "floor": decision_step.measure_floor,
    }
    for model in MODELS:
        say(f"decision-step: {model}, {sizes.examples} x {sizes.length} tokens ...")
        calls = {name: partial(measure, model, sizes, run.threads, steps) for name, measure in subjects.items()}
        found = in_turn(run, model, calls, sizes.rounds)
        place = ("decision-step", model, sizes.length)
        if "floor" in found:
            run.add_times(*place, {"floor": Timing(found.pop("floor").seconds)}, sizes.tokens)
        for subject, figures in found.items():
            run.add_step("decision-step", model, f"{model}, memory", sizes.length, subject, figures, sizes.tokens)


def rollouts(run: Run) -> None:
    """Left out, with a note, where the program or this Python has no simulator."""
    sizes = run.sizes.rollouts
    try:
        run.worst_error = max(decision_rollouts.check(model, whole_episode=sees == EPISODE) for model, sees in PLAYED)
    except NotMeasured as error:
        run.notes.append(f"left out: {error}")
        return
    rounds = min(run.repeats, sizes.rounds)
    for model, sees in PLAYED:
        say(f"rollouts: {model}, {sees}, {sizes.episodes} episodes ...")
        given = (model, sizes, run.threads)
        calls = {"ours": partial(decision_rollouts.measure, *given, whole_episode=sees == EPISODE)}
        if (model, sees) == PLAYED[0]:
            calls["eager"] = partial(decision_rollouts.measure_eager, *given)
        _add_played(run, f"{model}, {sees}", calls, rounds)


def _add_played(run: Run, what: str, calls: dict[str, Callable[[], Played]], rounds: int) -> None:
    """The time of the environment in ours is a subject of its own."""
    found: dict[str, list[Played]] = {subject: [] for subject in calls}
    for _ in range(rounds):
        for subject, call in calls.items():
            played = attempt(run, f"{what}: {subject}", call)
            found[subject] += [] if played is None else [played]
    timings = {subject: Timing(tuple(one.seconds for one in made)) for subject, made in found.items() if made}
    if found["ours"]:
        timings["environment"] = Timing(tuple(one.of_environment for one in found["ours"]))
    for played in found.get("eager", [])[:1]:
        run.notes.append(f"{what}: eager: {played.of_environment / played.seconds:.1%} of its time is the simulator's")
    episodes = run.sizes.rollouts.episodes
    run.add_times("rollouts", what, episodes, timings, episodes * TIME_LIMIT)

"""The cases of the language model: a training step beside eager PyTorch, and text that is written and read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from layer_bench import language_step
from layer_bench.command import say
from layer_bench.language import MODELS, PRIMAL_FORMER, SOFTMAX
from layer_bench.rounds import attempt, in_turn
from layer_bench.timing import Timing

if TYPE_CHECKING:
    from layer_bench.cases import Run


def training_step(run: Run) -> None:
    sizes = run.sizes.language
    run.worst_error = max(language_step.check(model) for model in MODELS)
    steps = min(run.repeats, sizes.steps)
    subjects = {"ours": language_step.measure, "eager": language_step.measure_eager}
    for model in MODELS:
        say(f"language-step: {model}, {sizes.examples} x {sizes.block} tokens ...")
        calls = {name: partial(measure, model, sizes, run.threads, steps) for name, measure in subjects.items()}
        for subject, figures in in_turn(run, model, calls, sizes.rounds).items():
            run.add_step("language-step", model, f"{model}, memory", sizes.block, subject, figures, sizes.tokens)


def generation(run: Run) -> None:
    sizes = run.sizes.language
    subjects = {"ours": (PRIMAL_FORMER, sizes.positions), "softmax": (SOFTMAX, sizes.softmax_positions)}
    for subject, (model, positions) in subjects.items():
        say(f"generation: {model} ...")
        call = partial(language_step.generate, model, sizes, run.threads, positions, run.repeats)
        made = attempt(run, subject, call)
        if made is None:
            continue
        for written in made["written"]:
            place = ("generation", "next token", written["position"])
            run.add_times(*place, {subject: Timing(tuple(written["seconds"]))})
            run.add_memory("generation", "state", written["position"], subject, written["state_bytes"] / 2**20)
        timings = {subject: Timing(tuple(made["prompt_seconds"]))}
        if subject == "ours":
            timings["pass"] = Timing(tuple(made["forward_seconds"]))
        run.add_times("generation", "prompt", sizes.prompt, timings, sizes.prompt)

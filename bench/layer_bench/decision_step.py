"""One measurement of `decision-step`, in a process of its own: by bench_decision_step, or of PyTorch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from layer_bench import machine
from layer_bench.agreement import compare
from layer_bench.decision import CHECKED, DecisionSizes
from layer_bench.decision_floor import Floor
from layer_bench.decision_model import DecisionTransformer, TrainingStep, Windows
from layer_bench.language_step import GRADIENT, comparable
from layer_bench.memory import in_fresh_process, peak_of
from layer_bench.step_program import (
    REST_GIGABYTES,
    Figures,
    answer_of,
    memory_limit,
    return_freed_memory,
    seconds_of_steps,
)
from layer_bench.tensor_file import read_tensors

FEW_STEPS = 2
WINDOWS = ("states", "actions", "returns_to_go", "timesteps", "padding")


def answer(model: str, sizes: DecisionSizes, threads: int, more: Mapping[str, object]) -> dict[str, Any]:
    options = {
        "--layers": ",".join(sizes.kinds(model)),
        "--width": sizes.width,
        "--heads": sizes.heads,
        "--feed-forward": sizes.feed_forward,
        "--rank": sizes.rank,
        "--window": sizes.window,
        "--attention-dropout": sizes.attention_dropout,
        "--examples": sizes.examples,
        "--threads": threads,
    }
    return answer_of("bench_decision_step", {**options, **more}, memory_limit() + REST_GIGABYTES)


def written_tensors(model: str, sizes: DecisionSizes, more: Mapping[str, object]) -> dict[str, Tensor]:
    """What the program writes with --outcome."""
    with tempfile.TemporaryDirectory(prefix="primal_bench_") as folder:
        path = Path(folder) / "outcome.safetensors"
        answer(model, sizes, 1, {**more, "--outcome": path})
        return read_tensors(path)


def measure(model: str, sizes: DecisionSizes, threads: int, steps: int) -> Figures:
    """Memory is that above the parameters and the moments of AdamW, here and of eager."""
    made = answer(model, sizes, threads, {"--steps": steps})
    return Figures(tuple(made["seconds"]), made["megabytes"])


def measure_batches(model: str, sizes: DecisionSizes, threads: int, count: int) -> Figures:
    made = answer(model, sizes, threads, {"--batches": True, "--steps": count})
    return Figures(tuple(made["seconds"]), 0)


def measure_eager(model: str, sizes: DecisionSizes, threads: int, steps: int) -> Figures:
    seconds = in_fresh_process(_seconds, TrainingStep, model, sizes, threads, steps)
    return Figures(seconds, in_fresh_process(_eager_peak, model, sizes, threads))


def measure_floor(model: str, sizes: DecisionSizes, threads: int, steps: int) -> Figures:
    return Figures(in_fresh_process(_seconds, Floor, model, sizes, threads, steps), 0)


def _seconds(job: Callable[..., Callable], model: str, sizes: DecisionSizes, threads: int, steps: int) -> tuple:
    machine.set_up(threads)
    return seconds_of_steps(job(model, sizes), steps)


def _eager_peak(model: str, sizes: DecisionSizes, threads: int) -> float:
    machine.set_up(threads)
    return_freed_memory()
    job = TrainingStep(model, sizes)
    job.on_few_steps(FEW_STEPS)
    return peak_of(job)


def check(model: str, sizes: DecisionSizes = CHECKED) -> float:
    """Loss and gradients of the C++ model against eager in double precision; the largest relative error."""
    made = outcome(model, sizes)
    return compare("ours", comparable(made), comparable(eager_outcome(model, sizes, made)))


def outcome(model: str, sizes: DecisionSizes) -> dict[str, Tensor]:
    """Parameters, windows, loss and gradients of the C++ model, without dropout."""
    return written_tensors(model, sizes, {})


def eager_outcome(model: str, sizes: DecisionSizes, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Loss and gradients by the names of ours, for its parameters and windows."""
    eager = DecisionTransformer(model, sizes).double().eval()
    eager.load_state_dict(parameters_of(ours))
    given = [ours[name].double() if ours[name].is_floating_point() else ours[name] for name in WINDOWS]
    loss = eager.loss(Windows(*given[:-1], real=1 - given[-1].double()))
    loss.backward()
    gradients = {GRADIENT + name: parameter.grad for name, parameter in eager.named_parameters()}
    return {"loss": loss.detach().reshape(1), **gradients}


def parameters_of(made: Mapping[str, Tensor]) -> dict[str, Tensor]:
    others = (*WINDOWS, "loss")
    return {n: v for n, v in made.items() if n not in others and not n.startswith((GRADIENT, "seen.", "done."))}

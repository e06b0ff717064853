"""One measurement of the language cases, in a process of its own: by bench_language_step, or of eager PyTorch."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from layer_bench import machine
from layer_bench.agreement import compare
from layer_bench.language import CHECKED, LanguageSizes
from layer_bench.language_model import LanguageModel, TrainingStep
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

FEW_TOKENS = 16
GRADIENT = "gradient."


def _answer(model: str, sizes: LanguageSizes, threads: int, more: Mapping[str, object]) -> dict[str, Any]:
    options = {
        "--layers": ",".join(sizes.kinds(model)),
        "--width": sizes.width,
        "--heads": sizes.heads,
        "--feed-forward": sizes.feed_forward,
        "--rank": sizes.rank,
        "--vocabulary": sizes.vocabulary,
        "--block": sizes.block,
        "--examples": sizes.examples,
        "--threads": threads,
    }
    return answer_of("bench_language_step", {**options, **more}, memory_limit() + REST_GIGABYTES)


def measure(model: str, sizes: LanguageSizes, threads: int, steps: int) -> Figures:
    """Memory is that above the parameters and the moments of AdamW, here and of eager."""
    made = _answer(model, sizes, threads, {"--steps": steps})
    return Figures(tuple(made["seconds"]), made["megabytes"])


def measure_eager(model: str, sizes: LanguageSizes, threads: int, steps: int) -> Figures:
    seconds = in_fresh_process(_eager_seconds, model, sizes, threads, steps)
    return Figures(seconds, in_fresh_process(_eager_peak, model, sizes, threads))


def _eager_seconds(model: str, sizes: LanguageSizes, threads: int, steps: int) -> tuple[float, ...]:
    machine.set_up(threads)
    return seconds_of_steps(TrainingStep(model, sizes), steps)


def _eager_peak(model: str, sizes: LanguageSizes, threads: int) -> float:
    machine.set_up(threads)
    return_freed_memory()
    job = TrainingStep(model, sizes)
    job.on_few_tokens(FEW_TOKENS)
    return peak_of(job)


def generate(model: str, sizes: LanguageSizes, threads: int, positions: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """`written`: position, seconds per token, state_bytes of each; `prompt_seconds` and `forward_seconds`."""
    more = {"--positions": ",".join(map(str, positions)), "--prompt": sizes.prompt, "--steps": rounds}
    return _answer(model, sizes, threads, {"--generate": True, **more})


def check(model: str, sizes: LanguageSizes = CHECKED) -> float:
    """Loss and gradients of the C++ model against eager in double precision; the largest relative error."""
    made = outcome(model, sizes)
    return compare("ours", comparable(made), comparable(eager_outcome(model, sizes, made)))


def outcome(model: str, sizes: LanguageSizes) -> dict[str, Tensor]:
    """Parameters, ids, targets, loss and gradients of the C++ model, without dropout."""
    with tempfile.TemporaryDirectory(prefix="primal_bench_") as folder:
        path = Path(folder) / "outcome.safetensors"
        _answer(model, sizes, 1, {"--outcome": path})
        return read_tensors(path)


def eager_outcome(model: str, sizes: LanguageSizes, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Loss and gradients by the names of ours, for its parameters, ids and targets."""
    eager = LanguageModel(model, sizes).double().eval()
    known = ("ids", "targets", "loss")
    eager.load_state_dict({n: v for n, v in ours.items() if n not in known and not n.startswith(GRADIENT)})
    loss = eager(ours["ids"], ours["targets"])
    loss.backward()
    gradients = {GRADIENT + name: parameter.grad for name, parameter in eager.named_parameters()}
    return {"loss": loss.detach().reshape(1), **gradients}


def comparable(made: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Loss and gradients. That of the bias of keys stands beside that of their weight: softmax does not feel this bias,
    and what is left of its gradient is rounding."""
    found = {n: v for n, v in made.items() if n == "loss" or n.startswith(GRADIENT)}
    for bias in [name for name in found if name.endswith("k_proj.bias")]:
        weight = bias.removesuffix("bias") + "weight"
        found[weight] = torch.cat([found[weight], found.pop(bias)[:, None]], dim=1)
    return found

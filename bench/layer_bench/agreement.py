"""A benchmark of wrong results is worthless: before anything is timed, all primal subjects must agree."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from layer_bench.subjects import PRIMAL
from layer_bench.workloads import FORWARD, Job

TOLERANCE = 1e-4  # of the largest value of each tensor
HOPELESS = 1e-2  # float32 that is as far off is a mistake
BFLOAT16_TOLERANCE = 0.03
BFLOAT16_HOPELESS = 10.0  # the loss is a squared difference: eager loses all its digits in bfloat16


class Disagreement(RuntimeError):
    """Two subjects that compute the same function do not."""


@dataclass(frozen=True)
class Agreement:
    worst: float  # largest relative error
    notes: tuple[str, ...] = ()  # tensors for which float32 itself is not good to TOLERANCE


def relative_error(value: Tensor, expected: Tensor) -> float:
    if value.shape != expected.shape:
        return float("inf")
    error = (value - expected).abs().max().item()
    return error / max(expected.abs().max().item(), 1e-30) if error == error else float("inf")


def compare(
    name: str, values: Mapping[str, Tensor], expected: Mapping[str, Tensor], limits: Mapping[str, float] | None = None
) -> float:
    """The largest relative error. Throws Disagreement above the limit (TOLERANCE), and when a tensor is missing."""
    worst = 0.0
    for what in expected:
        if what not in values:
            raise Disagreement(f"{name} has no {what}")
        error, limit = relative_error(values[what], expected[what]), (limits or {}).get(what, TOLERANCE)
        if error > limit:
            raise Disagreement(f"{name} and eager differ in {what} by {error:.1e}, above {limit:.1e}")
        worst = max(worst, error)
    return worst


def check(jobs: Mapping[str, object]) -> Agreement:
    """Outputs, losses and gradients of ours, eager and compile against eager in double precision.

    A sum over very many tokens may be off by more than TOLERANCE in float32, whoever computes it. Where eager itself
    is, the others may be off twice as far, and a note says so.
    """
    narrow = jobs["eager"].x.dtype == torch.bfloat16
    tolerance, hopeless = (BFLOAT16_TOLERANCE, BFLOAT16_HOPELESS) if narrow else (TOLERANCE, HOPELESS)
    expected = outcome(_in_double(jobs["eager"]))
    eager = outcome(jobs["eager"])
    own = {what: relative_error(eager[what], value) for what, value in expected.items()}
    limits = {what: 2 * error if error > tolerance else tolerance for what, error in own.items()}
    if any(error > hopeless for error in own.values()):
        raise Disagreement(f"eager is not itself in double precision: off by {max(own.values()):.1e}")
    others = [name for name in jobs if name in PRIMAL and name != "eager"]
    errors = [compare(name, outcome(jobs[name]), expected, limits) for name in others]
    dtype = "bfloat16" if narrow else "float32"
    notes = (
        f"{what}: eager itself is off by {own[what]:.1e} in {dtype}; limit {limit:.1e}"
        for what, limit in limits.items()
        if own[what] > tolerance
    )
    return Agreement(max([*errors, *own.values()]), tuple(notes))


def _in_double(job: Job) -> Job:
    """The same job, on copies of its module and inputs."""
    twin = copy.copy(job)
    twin.module = twin.run = copy.deepcopy(job.module).double()
    if job.x.is_floating_point():
        twin.x = job.x.detach().double().requires_grad_(job.x.requires_grad)
        twin.grad_out = job.grad_out.double()
    return twin


def outcome(job: Job) -> dict[str, Tensor]:
    """Everything the job computes, without dropout."""
    training = job.module.training
    if job.drops:  # else the mode stays, and what is compiled for it
        job.module.eval()
    try:
        if job.mode == FORWARD:
            with torch.no_grad():
                out, loss = job.run(job.x)
            return {"output": out, "loss": loss}
        job.module.zero_grad()
        out, loss = job.differentiate()
        values = {"output": out.detach(), "loss": loss.detach()}
        if job.x.grad is not None:
            values["gradient of x"] = job.x.grad.clone()
        for name, parameter in job.module.named_parameters():
            values[f"gradient of {name.removeprefix('inner.')}"] = parameter.grad.clone()
        return values
    finally:
        job.module.zero_grad()
        job.module.train(training)

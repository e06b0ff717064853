"""A workload is something to compute, whoever computes it; a job is one subject that is ready to compute it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import primal
from layer_bench import models, subjects
from layer_bench.sizes import Shape

FORWARD, BACKWARD, STEP = "forward", "forward+backward", "training step"
ETA = 0.1  # of the KSVD loss


@dataclass(frozen=True)
class Workload:
    kind: Literal["layer", "encoder", "lra"]
    mode: str  # FORWARD, BACKWARD or STEP
    shape: Shape
    batch: int
    length: int
    feed_forward: int = 0
    dtype: torch.dtype = torch.float32

    @property
    def tokens(self) -> int:
        return self.batch * self.length


class Task(nn.Module):
    """A layer with its loss: everything that torch.compile may see at once. x -> (output, loss or None)"""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        out, terms = self.inner(x)
        return out, None if terms is None else primal.ksvd_loss(terms, ETA)


class ClassifierTask(Task):
    def __init__(self, inner: nn.Module, labels: Tensor) -> None:
        super().__init__(inner)
        self.labels = labels

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        logits, terms = self.inner(x)
        loss = F.cross_entropy(logits, self.labels)
        return logits, loss + primal.ksvd_loss(terms, ETA, "batch_mean") if terms else loss


class Job:
    """One subject with inputs; calling it does the work once."""

    def __init__(self, workload: Workload, subject: str) -> None:
        torch.manual_seed(0)
        self.mode = workload.mode
        self.drops = workload.kind != "layer"  # has dropout
        self.x, self.grad_out = _inputs(workload)
        self.module = _task(workload, subject).to(workload.dtype)
        self.module.train(self.mode != FORWARD)
        # torch.compile shares the parameters of what it compiles.
        self.run = torch.compile(self.module, dynamic=False) if subject == "compile" else self.module
        if self.mode == STEP:
            self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=1e-4, fused=True)

    def __call__(self) -> None:
        if self.mode == FORWARD:
            with torch.no_grad():
                self.run(self.x)
            return
        self.module.zero_grad()
        self.differentiate()
        if self.mode == STEP:
            self.optimizer.step()

    def differentiate(self) -> tuple[Tensor, Tensor | None]:
        """With the loss of the task, and a gradient of the output as the layers above would give it."""
        self.x.grad = None
        out, loss = self.run(self.x)
        roots = [] if loss is None else [(loss, None)]
        if self.grad_out is not None:
            roots.append((out, self.grad_out))
        torch.autograd.backward(*zip(*roots, strict=True))
        return out, loss


def _inputs(workload: Workload) -> tuple[Tensor, Tensor | None]:
    if workload.kind == "lra":
        return torch.randint(models.VOCABULARY, (workload.batch, workload.length)), None
    size = (workload.batch, workload.length, workload.shape.width)
    x, grad_out = torch.randn(size).to(workload.dtype), torch.randn(size).to(workload.dtype)
    return x.requires_grad_(workload.mode != FORWARD), grad_out / workload.tokens


def _task(workload: Workload, subject: str) -> Task:
    shape, feed_forward = workload.shape, workload.feed_forward
    if workload.kind == "layer":
        return Task(_with_values_of_ours(lambda name: subjects.attention(name, shape), subject))
    if workload.kind == "encoder":
        make = lambda name: models.encoder_layer(name, shape, feed_forward, dropout=0.1, norm_first=False)  # noqa: E731
        return Task(_with_values_of_ours(make, subject))
    labels = torch.arange(workload.batch) % models.CLASSES
    make = lambda name: models.lra_model(name, shape, feed_forward, workload.length)  # noqa: E731
    return ClassifierTask(_with_values_of_ours(make, subject), labels)


def _with_values_of_ours(make: Callable[[str], nn.Module], subject: str) -> nn.Module:
    """All primal subjects begin with the same values."""
    torch.manual_seed(1)
    ours = make("ours")
    if subject == "ours":
        return ours
    made = make(subject)
    if subject in subjects.PRIMAL:
        made.load_state_dict(ours.state_dict())
    return made


def jobs(workload: Workload, names: Iterable[str]) -> dict[str, Job | subjects.Floor]:
    made: dict[str, Job | subjects.Floor] = {}
    for name in names:
        if name in ("floor", "products"):
            sizes = (workload.shape, workload.batch, workload.length)
            made[name] = subjects.Floor(*sizes, backward=workload.mode != FORWARD, every=name == "products")
        else:
            made[name] = Job(workload, name)
    return made

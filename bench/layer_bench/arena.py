"""The Long Range Arena as it is measured: shapes of its tasks, the kinds of attention, the published figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from layer_bench.sizes import Sizes

WIDTH, HEADS, FEED_FORWARD, ROWS_PER_RANK = 64, 2, 128, 10  # of the published model, two layers


@dataclass(frozen=True)
class Task:
    """A training step; ranks as in the published measurements of time and memory."""

    name: str
    examples: int  # of a batch
    length: int
    rank: int
    mixed_rank: int  # of softmax then primal
    accumulate: int = 1  # batches of a step
    pairs: bool = False  # an example is two sequences

    @property
    def tokens(self) -> int:
        return self.accumulate * self.examples * self.length * (2 if self.pairs else 1)

    def __str__(self) -> str:
        parts = [str(self.accumulate)] * (self.accumulate > 1) + ["2"] * self.pairs
        return " x ".join([*parts, str(self.examples), str(self.length)])


TASKS = (
    Task("listops", 32, 2048, rank=20, mixed_rank=20),
    Task("text", 32, 4096, rank=20, mixed_rank=20),
    Task("retrieval", 32, 4096, rank=30, mixed_rank=20, pairs=True),
    Task("image", 128, 1024, rank=20, mixed_rank=30, accumulate=2),
    Task("pathfinder", 128, 1024, rank=30, mixed_rank=30, accumulate=2),
)


def tasks(sizes: Sizes) -> list[Task]:
    """As published, or cut to the sizes of a shorter run."""
    return [
        replace(task, examples=min(task.examples, sizes.arena_batch), length=min(task.length, sizes.arena_length))
        for task in TASKS
        if task.name in sizes.arena_tasks
    ]


# Subjects by their layers; the softmax subjects are the same model.
PLAIN, SOFTMAX, TILES, MIXED, OURS = "plain", "softmax", "softmax, tiles", "softmax+ours", "ours"
EAGER, ONE_THREAD = "eager", "ours, 1 thread"
RIVALS = ("nystrom", "linformer", "performer", "reformer", "linear", "cosine", "flow", "cosformer", "window")
KINDS: Mapping[str, tuple[str, str]] = {
    PLAIN: ("softmax", "softmax"),
    SOFTMAX: ("softmax", "softmax"),
    TILES: ("softmax", "softmax"),
    MIXED: ("softmax", "primal"),
    OURS: ("primal", "primal"),
    **{kind: (kind, kind) for kind in RIVALS},
}
SOFTMAX_BY = {PLAIN: "explicit", SOFTMAX: "sdpa"}  # in the others it is ours
TITLES = {
    PLAIN: "softmax, explicit matrix",
    SOFTMAX: "softmax by blocks (SDPA)",
    TILES: "softmax by our tiles",
    MIXED: "Primal.+ (our tiles, primal)",
    OURS: "PrimalFormer",
    EAGER: "PrimalFormer, eager PyTorch",
    ONE_THREAD: "PrimalFormer, 1 thread",
}
LAYER_TITLES = {subject: TITLES[subject] for subject in (PLAIN, SOFTMAX, TILES)} | {OURS: "primal"}

# How many times the published softmax model takes of what another takes, on the authors' GPU, in the order of TASKS.
PUBLISHED_TIME_FACTORS = {
    PLAIN: (1.0, 1.0, 1.0, 1.0, 1.0),
    MIXED: (1.7, 1.9, 2.4, 1.6, 1.5),
    OURS: (3.4, 7.4, 7.2, 2.3, 2.3),
    "nystrom": (2.8, 5.7, 5.7, 1.9, 1.8),
    "linformer": (3.1, 6.0, 5.9, 2.1, 2.0),
    "performer": (2.3, 4.4, 4.2, 1.6, 1.5),
    "reformer": (2.2, 4.1, 3.9, 1.5, 1.4),
}
PUBLISHED_MEMORY_FACTORS = {
    PLAIN: (1.0, 1.0, 1.0, 1.0, 1.0),
    MIXED: (1.1, 1.0, 1.0, 1.1, 1.1),
    OURS: (7.9, 15.5, 6.3, 4.2, 3.9),
    "nystrom": (6.2, 12.6, 5.7, 3.0, 3.0),
    "linformer": (3.2, 6.2, 3.0, 1.7, 1.7),
    "performer": (3.3, 6.4, 3.0, 1.8, 1.8),
    "reformer": (3.3, 6.5, 3.1, 1.8, 1.8),
}


def published(factors: Mapping[str, tuple[float, ...]], task: str, subject: str) -> float | None:
    return factors[subject][[known.name for known in TASKS].index(task)] if subject in factors else None

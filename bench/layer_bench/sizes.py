"""How large each case is: the sizes that the goals speak of, smaller ones for a look, tiny ones for the tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layer_bench import decision, language
from layer_bench.decision import DecisionSizes, RolloutSizes
from layer_bench.language import LanguageSizes

CASES = {
    "layer": "the attention layer alone: forward, forward+backward, training step; against the floor",
    "encoder": "a whole encoder layer: forward, forward+backward, training step",
    "lra": "a training step of the LRA model",
    "bfloat16": "the attention layer with bfloat16 tokens and weights",
    "decode": "causal decoding per token, against softmax attention with a key-value cache",
    "moving-average": "primal.moving_average, causal and both ways: forward, backward, and a copy of the tokens",
    "memory": "peak memory of forward+backward, each subject in a process of its own",
    "same-tokens": "the same number of tokens as many short and as few long sequences, both widths: time per token",
    "growth": "time and peak memory of one sequence over its length, width of the LRA model",
    "wide-growth": "the same, width of the layer",
    "small": "the smallest useful call: what a call costs",
    "threads": "one thread against several",
    "epoch": "a training epoch of the program, against eager PyTorch (bench/train_epoch.py)",
    "lra-table": "a training step of the LRA model, all tasks and kinds of attention: time, memory, published factors",
    "lra-growth": "time and peak memory of an encoder layer over the length, all kinds of attention",
    "language-step": "a training step of the language model: time and memory, against eager PyTorch",
    "generation": "text by the language model: time per token after few and many others, to read a prompt, its state",
    "decision-step": "a training step of the Decision Transformer: time and memory, against eager PyTorch; the floor",
    "rollouts": "episodes of HalfCheetah played side by side, against eager PyTorch that plays one after another",
    "busy": "a training by the program beside two busy processes, against a quiet machine",
}
# They take longer than all the others together: measured when they are asked for.
LONG_CASES = ("lra-table", "lra-growth", "language-step", "generation", "decision-step", "rollouts")


@dataclass(frozen=True)
class Shape:
    """D, H, s and n of an attention layer."""

    width: int
    heads: int
    rank: int
    rows: int

    def __str__(self) -> str:
        return f"D={self.width} H={self.heads} s={self.rank} n={self.rows}"


@dataclass(frozen=True)
class Sizes:
    name: str
    cases: tuple[str, ...]  # by default
    repeats: int
    compiled: bool  # torch.compile takes 10 s and more for each graph
    compiled_lengths: tuple[int, ...]  # of the layer alone
    shape: Shape
    lengths: tuple[int, ...]
    tokens: int  # of the whole batch, at every length
    middle: int  # the length of what is measured at one length only
    feed_forward: int
    lra: Shape
    lra_batch: int
    lra_length: int
    lra_feed_forward: int
    growth: tuple[int, ...]
    growth_softmax: int  # softmax attention is measured up to this length
    decode_batch: int
    decode_positions: tuple[int, int]
    averages: tuple[tuple[int, int], ...]  # batch and length of each moving average
    averages_kept: int  # plain PyTorch runs backward for up to so many tokens: it keeps ten sums and more of each
    epochs: int
    epoch_rounds: int
    arena_tasks: tuple[str, ...]
    arena_batch: int  # examples of a batch of the LRA tasks, at most
    arena_length: int  # their tokens, at most
    arena_growth: tuple[int, ...]
    arena_steps: int  # that are timed
    language: LanguageSizes
    decision: DecisionSizes
    rollouts: RolloutSizes
    limit_size: int  # of the matrices that measure the peak rate


FULL = Sizes(
    name="full",
    cases=tuple(case for case in CASES if case not in LONG_CASES),
    repeats=7,
    compiled=True,
    compiled_lengths=(512, 2048, 8192),
    shape=Shape(512, 8, 30, 300),
    lengths=(512, 2048, 8192),
    tokens=8192,
    middle=2048,
    feed_forward=2048,
    lra=Shape(64, 2, 20, 200),
    lra_batch=32,
    lra_length=2048,
    lra_feed_forward=128,
    growth=(1024, 4096, 16384, 65536, 131072),
    growth_softmax=16384,
    decode_batch=8,
    decode_positions=(64, 8192),
    averages=((16, 1000), (1, 100_000)),
    averages_kept=16_000,
    epochs=3,
    epoch_rounds=2,
    arena_tasks=("listops", "text", "retrieval", "image", "pathfinder"),
    arena_batch=128,
    arena_length=4096,
    arena_growth=tuple(2**power for power in range(9, 17)),
    arena_steps=3,
    language=LanguageSizes(),
    decision=DecisionSizes(),
    rollouts=RolloutSizes(),
    limit_size=2048,
)

QUICK = replace(
    FULL,
    name="quick",
    cases=tuple(case for case in FULL.cases if case not in ("epoch", "busy", "bfloat16", "same-tokens", "wide-growth")),
    repeats=3,
    compiled=False,
    compiled_lengths=(2048,),
    lengths=(512, 2048),
    tokens=2048,
    lra_batch=4,
    growth=(1024, 4096, 16384),
    growth_softmax=4096,
    averages=((4, 1000), (1, 16_000)),
    epochs=1,
    epoch_rounds=1,
    arena_batch=4,
    arena_growth=(512, 1024, 2048, 4096),
    language=LanguageSizes(
        layers=3,
        width=256,
        feed_forward=1024,
        vocabulary=8000,
        block=256,
        rounds=1,
        positions=(64, 4096, 16_384),
        softmax_positions=(64, 4096),
        prompt=2000,
    ),
    decision=DecisionSizes(width=128, feed_forward=512, rank=32, steps=3, rounds=1),
    rollouts=RolloutSizes(episodes=2, rounds=1),
    limit_size=1024,
)

TINY = replace(
    FULL,
    name="tiny",
    repeats=2,
    compiled=False,
    compiled_lengths=(),
    shape=Shape(16, 2, 3, 8),
    lengths=(8, 16),
    tokens=32,
    middle=16,
    feed_forward=32,
    lra=Shape(8, 2, 3, 8),
    lra_batch=2,
    lra_length=16,
    lra_feed_forward=16,
    growth=(16, 64),
    growth_softmax=64,
    decode_batch=2,
    decode_positions=(4, 32),
    averages=((2, 16), (1, 70)),
    averages_kept=32,
    epochs=1,
    epoch_rounds=1,
    arena_tasks=("retrieval",),
    arena_batch=4,
    arena_length=64,
    arena_growth=(64,),
    arena_steps=2,
    language=replace(language.CHECKED, rounds=2, positions=(4, 32, 64), softmax_positions=(4, 32), prompt=40),
    decision=decision.CHECKED,
    rollouts=RolloutSizes(decision.CHECKED, episodes=2, rounds=1),
    limit_size=64,
)

SIZES = {sizes.name: sizes for sizes in (FULL, QUICK, TINY)}

"""The Decision Transformer as it is measured: its sizes, and the models by their layers."""

from __future__ import annotations

from dataclasses import dataclass, field

MIXED, PRIMAL_FORMER, SOFTMAX = "Primal.+DT", "PrimalFormer-DT", "DT"
MODELS = (MIXED, PRIMAL_FORMER, SOFTMAX)
WINDOW, EPISODE = "window", "whole episode"  # what an agent sees
STATES, ACTIONS = 17, 6  # numbers of each: HalfCheetah's
TIME_LIMIT = 1000  # steps of an episode; it never falls
TOKENS_OF_STEP = 3  # return, state, action
RETURN_SCALE = 1000.0
DROPOUT = 0.1
LR, WEIGHT_DECAY, ETA, CLIP = 1e-3, 1e-4, 0.05, 0.25  # of AdamW, of the KSVD loss, of the gradient's norm


@dataclass(frozen=True)
class DecisionSizes:
    """Those of configs/offline-rl/halfcheetah-medium-v2.toml."""

    layers: int = 3
    width: int = 256
    heads: int = 4
    feed_forward: int = 1024
    rank: int = 64
    window: int = 20  # K, steps of an episode
    attention_dropout: float = 0.1  # of softmax weights
    examples: int = 64  # windows of a training step
    steps: int = 5  # of training, that a process times
    rounds: int = 2  # processes of each subject, in turn

    @property
    def length(self) -> int:
        return TOKENS_OF_STEP * self.window

    @property
    def tokens(self) -> int:
        return self.examples * self.length

    def kinds(self, model: str) -> tuple[str, ...]:
        """The attention of each layer."""
        if model == MIXED:
            return ("softmax",) * (self.layers - 1) + ("primal",)
        return ("primal" if model == PRIMAL_FORMER else "softmax",) * self.layers


@dataclass(frozen=True)
class RolloutSizes:
    """The agent of configs/offline-rl/halfcheetah-medium.toml."""

    agent: DecisionSizes = field(default_factory=lambda: DecisionSizes(width=128, feed_forward=512, rank=32))
    episodes: int = 10
    rounds: int = 3  # processes of each subject, in turn


# At which every model is compared with eager PyTorch.
CHECKED = DecisionSizes(layers=2, width=32, heads=2, feed_forward=64, rank=8, window=6, examples=3, steps=2)

"""The language model as it is measured: its sizes, and the models by their layers."""

from __future__ import annotations

from dataclasses import dataclass

PRIMAL_FORMER, MIXED, SOFTMAX = "PrimalFormer", "Primal.+", "softmax"
MODELS = (PRIMAL_FORMER, MIXED, SOFTMAX)
DROPOUT = 0.1
LR, ETA = 1e-3, 0.1  # of AdamW, of the KSVD loss


@dataclass(frozen=True)
class LanguageSizes:
    """Those of configs/language/wikitext-103.toml, with the vocabulary of WikiText-2."""

    layers: int = 6
    width: int = 512
    heads: int = 8
    feed_forward: int = 2048
    rank: int = 30
    vocabulary: int = 33_278
    block: int = 512  # tokens of an example
    examples: int = 4  # of a step
    steps: int = 3  # that a process times
    rounds: int = 2  # processes of each subject, in turn
    positions: tuple[int, ...] = (64, 32_768, 100_000)  # tokens before those whose time to write is taken
    softmax_positions: tuple[int, ...] = (64, 32_768)
    prompt: int = 10_000

    @property
    def tokens(self) -> int:
        return self.examples * self.block

    def kinds(self, model: str) -> tuple[str, ...]:
        """The attention of each layer."""
        if model == MIXED:
            return ("softmax",) * (self.layers - 1) + ("primal",)
        return ("primal" if model == PRIMAL_FORMER else "softmax",) * self.layers


# At which every model is compared with eager PyTorch.
CHECKED = LanguageSizes(layers=2, width=32, heads=2, feed_forward=64, rank=8, vocabulary=100, block=16, examples=3)

"""A trained language model out of its run directory: text that goes on, and how likely a text is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypedDict

import torch

from primal import _library as _library  # loads torch.classes.primal

if TYPE_CHECKING:
    from typing_extensions import Unpack


class GenerateOptions(TypedDict, total=False):
    """How text is written."""

    tokens: int  # at most so many; default 200
    temperature: float  # 0: always the likeliest token; default 1
    top_k: int  # only the k likeliest; default 0, all
    top_p: float  # only the likeliest that together have this share; default 1
    repetition: float  # above 1: tokens among the last 256 become less likely; default 1
    seed: int  # the same writes the same; default 1
    stops: Sequence[str]  # texts that end what is written, and are part of it
    unknown_words: bool  # words outside the vocabulary are read as unknown, no error


@dataclass(frozen=True)
class TokenScore:
    """A token of a text, and how surprising it is: -log p, given those before it.

    The bytes of a character stand with the last of its tokens.
    """

    text: str
    surprise: float


class TextStream:
    """Text as it grows: an iterator over what comes next, a character or more at a time.

    It ends after as many tokens as were asked for, at a stop, or with the document; `read` lets it go on. What it
    remembers is of constant size if every layer of the model is primal.
    """

    def __init__(self, inner: Any) -> None:  # LanguageModel.stream() makes them
        self._inner = inner

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        piece: str = self._inner.next()
        if not piece:
            raise StopIteration
        return piece

    def read(self, text: str) -> None:
        """More text to go on from."""
        self._inner.read(text)

    def save(self, path: str | PathLike[str]) -> None:
        """To go on later, bit for bit: a safetensors file, for the same weights."""
        self._inner.save(fspath(path))

    def load(self, path: str | PathLike[str]) -> None:
        """Forget what was read and written, and go on from where the stream of that file stood."""
        self._inner.load(fspath(path))

    @property
    def tokens(self) -> int:
        """Read and written so far, the start of the text included."""
        return int(self._inner.tokens())

    @property
    def state_bytes(self) -> int:
        """Of what the model remembers."""
        return int(self._inner.state_bytes())

    def __repr__(self) -> str:
        return f"TextStream(tokens={self.tokens}, state_bytes={self.state_bytes})"


class LanguageModel:
    """What `primal train language/...` wrote.

    model = primal.LanguageModel.load("runs/code")
    print(model.generate("def forward(", tokens=200, temperature=0.8))
    for piece in model.stream("def forward("):
        print(piece, end="")

    The options of `generate`, `samples` and `stream` are those of GenerateOptions.
    """

    def __init__(self, inner: Any) -> None:  # load() makes them
        self._inner = inner

    @classmethod
    def load(cls, run: str | PathLike[str]) -> LanguageModel:
        """From a run directory; its files are held against their checksums."""
        return cls(torch.classes.primal.LanguageModel(fspath(run)))

    def generate(self, prompt: str = "", **options: Unpack[GenerateOptions]) -> str:
        """What comes after the prompt, which is not part of it. An empty prompt begins a text."""
        return str(self._inner.samples(prompt, 1, *_packed(**options))[0])

    def samples(self, prompt: str = "", count: int = 2, **options: Unpack[GenerateOptions]) -> list[str]:
        """Several texts side by side, each with its own chance."""
        return list(self._inner.samples(prompt, count, *_packed(**options)))

    def stream(self, prompt: str = "", **options: Unpack[GenerateOptions]) -> TextStream:
        """The same, piece by piece, with a state that can be saved."""
        return TextStream(self._inner.stream(prompt, *_packed(**options)))

    def score(self, text: str) -> list[TokenScore]:
        """Every token of a text. Each sees half a block of the model's training before it, where there is so much."""
        return [TokenScore(*pair) for pair in zip(*self._inner.score(text), strict=True)]

    def perplexity(self, text: str) -> float:
        """exp of the mean surprise of the tokens."""
        return float(self._inner.perplexity(text))

    def tokens(self, text: str) -> list[int]:
        """Ids."""
        return list(self._inner.tokens(text))

    @property
    def vocabulary_size(self) -> int:
        """Ids of a text are below it."""
        return int(self._inner.vocabulary_size())

    @property
    def unit(self) -> str:
        """What a token is: words, bytes or subwords."""
        return str(self._inner.unit())

    def __repr__(self) -> str:
        return f"LanguageModel({self.unit}, vocabulary_size={self.vocabulary_size})"


def _packed(
    tokens: int = 200,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    repetition: float = 1.0,
    seed: int = 1,
    stops: Sequence[str] = (),
    unknown_words: bool = False,
) -> tuple[list[int], list[float], list[str]]:
    """As torch.classes.primal.LanguageModel takes them: whole numbers, others, texts."""
    if isinstance(stops, str):
        raise TypeError(f"generate: expected a sequence of texts as stops, got {stops!r}")
    return [tokens, top_k, seed, int(unknown_words)], [temperature, top_p, repetition], list(stops)

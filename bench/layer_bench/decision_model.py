"""The Decision Transformer in plain eager PyTorch, with the parameter names of the C++ model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import primal
from layer_bench.decision import (
    ACTIONS,
    CLIP,
    DROPOUT,
    ETA,
    LR,
    STATES,
    TIME_LIMIT,
    TOKENS_OF_STEP,
    WEIGHT_DECAY,
    DecisionSizes,
)
from layer_bench.language_model import CausalPrimalAttention, CausalSoftmaxAttention
from layer_bench.models import EncoderLayer
from layer_bench.subjects import merge


@dataclass(frozen=True)
class Windows:
    """Steps of episodes, padded at their ends."""

    states: Tensor  # [B, K, S]
    actions: Tensor  # [B, K, A]
    returns_to_go: Tensor  # [B, K]
    timesteps: Tensor  # [B, K]
    real: Tensor  # [B, K], 1 for a step, 0 for padding

    def first(self, examples: int, steps: int) -> Windows:
        return Windows(*(tensor[:examples, :steps] for tensor in vars(self).values()))


class WindowPrimalAttention(CausalPrimalAttention):
    """Padding stands behind all that is real, so a causal layer need not know of it, but for the means of its terms."""

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, primal.KsvdTerms]:
        e, r = self.scores(x)
        out = self.out_proj(merge(self.score_proj(torch.cat([e, r], dim=-1))))
        lam, share = self.lam[:, None], real / real.sum(1, keepdim=True)
        le, lr = (0.5 * ((score * lam).square().sum(-1).mean(1) * share).sum(1) for score in (e, r))
        tr = (self.we * self.wr).sum() / self.heads
        return out, primal.KsvdTerms(le, lr, tr.expand(len(x)))


class WindowSoftmaxAttention(CausalSoftmaxAttention):
    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, None]:
        return super().forward(x)


def _attention(kind: str, sizes: DecisionSizes) -> nn.Module:
    if kind == "primal":
        return WindowPrimalAttention(sizes.width, sizes.heads, sizes.rank)
    return WindowSoftmaxAttention(sizes.width, sizes.heads, sizes.attention_dropout)


class DecisionTransformer(nn.Module):
    """Windows -> actions [B, K, A] and the KSVD terms of its primal layers."""

    def __init__(self, model: str, sizes: DecisionSizes) -> None:
        super().__init__()
        width = sizes.width
        self.embed_timestep = nn.Embedding(TIME_LIMIT, width)
        self.embed_return, self.embed_state = nn.Linear(1, width), nn.Linear(STATES, width)
        self.embed_action = nn.Linear(ACTIONS, width)
        self.embed_norm, self.drop = nn.LayerNorm(width), nn.Dropout(DROPOUT)
        layers = [
            EncoderLayer(
                _attention(kind, sizes), width, sizes.feed_forward, DROPOUT, norm_first=True, activation=F.relu
            )
            for kind in sizes.kinds(model)
        ]
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList(layers), "norm": nn.LayerNorm(width)})
        self.predict_action = nn.Linear(width, ACTIONS)

    def forward(self, windows: Windows) -> tuple[Tensor, list[primal.KsvdTerms]]:
        times = self.embed_timestep(windows.timesteps)
        of_step = (
            self.embed_return(windows.returns_to_go[..., None]) + times,
            self.embed_state(windows.states) + times,
            self.embed_action(windows.actions) + times,
        )
        x, terms = self.drop(self.embed_norm(torch.stack(of_step, dim=2).flatten(1, 2))), []
        real = windows.real.repeat_interleave(TOKENS_OF_STEP, dim=1)
        for layer in self.encoder["layers"]:
            x, of_layer = layer(x, real)
            if of_layer is not None:
                terms.append(of_layer)
        of_states = self.encoder["norm"](x).unflatten(1, (-1, TOKENS_OF_STEP))[:, :, 1]
        return self.predict_action(of_states).tanh(), terms

    def loss(self, windows: Windows) -> Tensor:
        actions, terms = self(windows)
        squares = (actions - windows.actions).square() * windows.real[..., None]
        error = squares.sum() / (windows.real.sum() * ACTIONS)
        return error + primal.ksvd_loss(terms, ETA) if terms else error


def random_windows(sizes: DecisionSizes) -> Windows:
    """One of them reaches beyond the end of its episode."""
    batch, steps = sizes.examples, sizes.window
    first = torch.randint(TIME_LIMIT - steps, (batch, 1))
    real = torch.ones(batch, steps)
    real[-1, steps // 2 :] = 0
    actions = torch.rand(batch, steps, ACTIONS) * 2 - 1
    return Windows(
        torch.randn(batch, steps, STATES), actions, torch.randn(batch, steps), first + torch.arange(steps), real
    )


class TrainingStep:
    def __init__(self, model: str, sizes: DecisionSizes) -> None:
        torch.manual_seed(1)
        self.model = DecisionTransformer(model, sizes)
        options = {"lr": LR, "weight_decay": WEIGHT_DECAY, "fused": True}
        self.optimizer = torch.optim.AdamW(self.model.parameters(), **options)
        self.windows = random_windows(sizes)

    def __call__(self) -> None:
        self._step(self.windows)

    def on_few_steps(self, count: int) -> None:
        """A step that leaves nothing but the moments of the optimizer, threads and buffers of the BLAS."""
        self._step(self.windows.first(1, count))
        self.optimizer.zero_grad()

    def _step(self, windows: Windows) -> None:
        self.optimizer.zero_grad()
        self.model.loss(windows).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()

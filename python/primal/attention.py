"""Primal-Attention as a PyTorch module: attention with cost linear in the sequence length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from primal import _library as _library  # loads torch.ops.primal
from primal import reference
from primal._export import register_for_export
from primal._feature_map import feature_width, in_python
from primal._inputs import Lengths, check_choice, check_state, check_tokens, flag, one_mask, size
from primal._parameters import check_whole
from primal._score_init import reset_scores
from primal.ksvd import KsvdTerms
from primal.untouched import any_global_hook, untouched

ROWS_PER_RANK = 10  # the published default of rank_multi
_DEFAULTS = {
    "causal": False,
    "memory": "mean",
    "padding": "respect",
    "bias": True,
    "trace": "raw",
    "lambda_form": "squared",
    "init": "reference",
    "projections": "both",
    "sampling": "exact",
    "implementation": "auto",
}


class State(NamedTuple):
    """All that a causal layer remembers of the past, whatever its length. Returned anew by every step.

    It belongs to the layer that made it: with memory="decay" the sums have faded at that layer's time scales."""

    q_sum: Tensor  # [B, D] float64: a float32 sum would drift from the full pass
    k_sum: Tensor
    count: Tensor  # type: ignore[assignment]  # [B] int64; hides tuple.count


class Scores(NamedTuple):
    """The scores of a pass, for analysis, and the weights they were made with."""

    e: Tensor  # [B, H, Nq, s]
    r: Tensor  # [B, H, Nk, s]
    we_x: Tensor  # [B or 1, H, p, s]
    wr_x: Tensor


register_for_export(State)
register_for_export(Scores)


class PrimalAttention(nn.Module):
    """Drop-in attention layer. Input [B, N, D] -> output [B, N, D] and the layer's KSVD terms.

    Args:
        embed_dim: width D.
        num_heads: heads H; divides D.
        rank: s, the number of singular directions.
        rows: n, sampled rows of X that make the data-dependent weights; default 10 * rank.
        feature_map: "cosine" (published), "exponential", "polynomial(degree)", "identity", a name registered in C++,
            or any differentiable function [..., d] -> [..., p] (then the pass runs in plain PyTorch).
        causal: means of q and k over the past; needs data-independent weights.
        memory: of a causal layer: "mean" (published): all tokens of the past count the same; "decay": they fade with
            their age, at a learnt time scale per head (`log_scale`, [H], the log of tokens).
        memory_tokens: with memory="decay", the longest time scale to begin with; the heads' are log-spaced from 1
            token to it.
        data_dependent: weights made from rows of X; default: unless causal.
        padding: "respect": padded tokens enter neither weights nor KSVD means, and their output is 0; "ignore":
            published, they count like any token, and a mask only zeroes the input of the output projection.
        bias: of the four linear maps.
        trace: of We^T Wr ("raw"), or of the data-dependent weights ("data_dependent").
        lambda_form: Lambda = lam^2 ("squared", published), softplus(lam) or exp(lam).
        init: of We and Wr: "reference" (published) or "per_head_orthonormal".
        projections: which scores make the output: "both" (published), "right": e alone, "left": r alone. The KSVD terms
            are of both all the same.
        sampling: which rows: "exact" (integers), or as integer linspace of PyTorch >= 2.0 ("linspace") or of PyTorch
            1.6 to 1.13 ("legacy") rounded, to compare with checkpoints of those.
        implementation: "auto": the operators of the C++ library; "plain": PyTorch's own functions, slower, for what the
            operators do not have: torch.func (grad, vjp, jacrev, jvp, vmap of them), forward mode, second derivatives.
            "auto" takes that path too in torch.onnx.export, and when a linear map has hooks or is not a plain
            nn.Linear any more.

    Example::

        layer = primal.PrimalAttention(512, 8, rank=30)
        out, terms = layer(x, lengths=lengths)
        loss = task_loss(out) + primal.ksvd_loss(terms, eta=0.1)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        rank: int,
        rows: int | None = None,
        *,
        feature_map: str | Callable[[Tensor], Tensor] = "cosine",
        causal: bool = False,
        memory: Literal["mean", "decay"] = "mean",
        memory_tokens: int = 1024,
        data_dependent: bool | None = None,
        padding: Literal["respect", "ignore"] = "respect",
        bias: bool = True,
        trace: Literal["raw", "data_dependent"] = "raw",
        lambda_form: Literal["squared", "softplus", "exp"] = "squared",
        init: Literal["reference", "per_head_orthonormal"] = "reference",
        projections: Literal["both", "right", "left"] = "both",
        sampling: Literal["exact", "linspace", "legacy"] = "exact",
        implementation: Literal["auto", "plain"] = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        causal, bias = flag("PrimalAttention", "causal", causal), flag("PrimalAttention", "bias", bias)
        data_dependent = not causal if data_dependent is None else data_dependent
        data_dependent = flag("PrimalAttention", "data_dependent", data_dependent)
        embed_dim = size("PrimalAttention", "embed_dim", embed_dim)
        num_heads = size("PrimalAttention", "num_heads", num_heads)
        rank = size("PrimalAttention", "rank", rank)
        rows = ROWS_PER_RANK * rank if rows is None else size("PrimalAttention", "rows", rows)
        if embed_dim % num_heads:
            raise ValueError(f"PrimalAttention: embed_dim {embed_dim} is not divisible by {num_heads} heads")
        if causal and data_dependent:
            raise ValueError(
                "PrimalAttention: causal attention needs data-independent weights: "
                "data-dependent ones are made from the whole sequence"
            )
        if not (isinstance(feature_map, str) or callable(feature_map)):
            raise TypeError(f"PrimalAttention: feature_map must be a name or a function, got {feature_map!r}")
        check_choice("PrimalAttention", "memory", memory, ("mean", "decay"))
        if memory == "decay" and not causal:
            raise ValueError('PrimalAttention: memory="decay" needs causal=True: other layers keep no past')
        check_choice("PrimalAttention", "padding", padding, ("respect", "ignore"))
        check_choice("PrimalAttention", "trace", trace, ("raw", "data_dependent"))
        check_choice("PrimalAttention", "lambda_form", lambda_form, ("squared", "softplus", "exp"))
        check_choice("PrimalAttention", "init", init, ("reference", "per_head_orthonormal"))
        check_choice("PrimalAttention", "projections", projections, ("both", "right", "left"))
        check_choice("PrimalAttention", "sampling", sampling, ("exact", "linspace", "legacy"))
        check_choice("PrimalAttention", "implementation", implementation, ("auto", "plain"))
        self.embed_dim, self.num_heads, self.rank = embed_dim, num_heads, rank
        self.memory, self.memory_tokens = memory, size("PrimalAttention", "memory_tokens", memory_tokens)
        self.feature_map, self.causal, self.data_dependent = feature_map, causal, data_dependent
        self.padding, self.trace, self.lambda_form, self.projections = padding, trace, lambda_form, projections
        self.init, self.sampling, self.implementation, self.bias = init, sampling, implementation, bias

        head_dim = embed_dim // num_heads
        features = feature_width(feature_map, head_dim)
        if implementation == "plain":
            in_python(feature_map)  # that there is none is an error here, not at the first pass
        self.rows = rows if data_dependent else features
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias, **factory)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias, **factory)
        self.we = nn.Parameter(torch.empty(num_heads, self.rows, rank, **factory))
        self.wr = nn.Parameter(torch.empty(num_heads, self.rows, rank, **factory))
        self.lam = nn.Parameter(torch.empty(num_heads, rank, **factory))
        self.log_scale: nn.Parameter | None
        self.register_parameter(
            "log_scale", nn.Parameter(torch.empty(num_heads, **factory)) if memory == "decay" else None
        )
        self.score_proj = nn.Linear(2 * rank if projections == "both" else rank, head_dim, bias, **factory)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias, **factory)
        reset_scores(self)

    def reset_parameters(self) -> None:
        for linear in (self.q_proj, self.k_proj, self.score_proj, self.out_proj):
            linear.reset_parameters()
        reset_scores(self)

    def lambda_(self) -> Tensor:
        """Lambda of the KSVD objective, positive. -> [H, s]"""
        if self.lambda_form == "squared":
            return self.lam.square()
        return self.lam.exp() if self.lambda_form == "exp" else F.softplus(self.lam)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        *,
        key_padding_mask: Tensor | None = None,
        query_padding_mask: Tensor | None = None,
        lengths: Lengths | None = None,
        key_lengths: Lengths | None = None,
    ) -> tuple[Tensor, KsvdTerms]:
        """query: [B, Nq, D]; key: [B, Nk, D] for cross-attention, else self-attention.

        Masks are bool, True = padded. In self-attention there is one sequence: give `key_padding_mask` (as for
        nn.MultiheadAttention) or `lengths`. In cross-attention `key_padding_mask`/`key_lengths` belong to the key and
        `query_padding_mask`/`lengths` to the query.
        """
        masks = self._masks(query, key, query_padding_mask, key_padding_mask, lengths, key_lengths)
        if self._is_plain():
            result = self._in_plain_pytorch(query, key, masks)
            return result.out, KsvdTerms(result.le, result.lr, result.tr)
        out, *terms = torch.ops.primal.attention(*self._operands(query, key, masks), **self._switches())
        return out, KsvdTerms(*terms)

    @torch.no_grad()
    def scores(
        self,
        query: Tensor,
        key: Tensor | None = None,
        *,
        key_padding_mask: Tensor | None = None,
        query_padding_mask: Tensor | None = None,
        lengths: Lengths | None = None,
        key_lengths: Lengths | None = None,
    ) -> Scores:
        """The scores e and r of the same pass, for analysis."""
        self._check_whole("scores")
        masks = self._masks(query, key, query_padding_mask, key_padding_mask, lengths, key_lengths)
        if self._is_plain():
            result = self._in_plain_pytorch(query, key, masks)
            return Scores(result.e, result.r, result.we_x, result.wr_x)
        return Scores(*torch.ops.primal.attention_scores(*self._operands(query, key, masks), **self._switches()))

    def stationarity(
        self, query: Tensor, *, key_padding_mask: Tensor | None = None, lengths: Lengths | None = None
    ) -> Tensor:
        """How far the layer is from a stationary point of J in self-attention: mean over the heads of the squared
        residuals of the conditions of a kernel SVD, each over its weights. -> [B]

        Instead of `ksvd_loss`: `task_loss(out) + eta * layer.stationarity(x).mean()`. It is zero at stationary points
        alone, while J is also zero elsewhere. The pass is made again, in PyTorch's own functions.
        """
        self._check_whole("stationarity")
        masks = self._masks(query, None, None, key_padding_mask, lengths, None)
        result = self._in_plain_pytorch(query, None, masks)
        counted = torch.ones(query.shape[:2], dtype=torch.bool, device=query.device)
        if self.padding == "respect" and masks[0] is not None:
            counted = ~masks[0]
        return reference.stationarity(result, self._parameters_now(), counted, self.trace == "data_dependent")

    def initial_state(self, batch_size: int) -> State:
        """The state before the first token of a causal layer."""
        device = self.we.device
        q_sum, k_sum = (torch.zeros(batch_size, self.embed_dim, dtype=torch.float64, device=device) for _ in range(2))
        return State(q_sum, k_sum, torch.zeros(batch_size, dtype=torch.int64, device=device))

    @torch.no_grad()
    def step(self, tokens: Tensor, state: State, *, key_padding_mask: Tensor | None = None) -> tuple[Tensor, State]:
        """The next tokens [B, T, D] of a causal layer after `state`: their output and the state after them."""
        mask, _ = self._masks(tokens, None, None, key_padding_mask, None, None, name="tokens")
        return self._step(tokens, state, mask)

    def _step(self, tokens: Tensor, state: State, mask: Tensor | None) -> tuple[Tensor, State]:
        """Called without gradient: one no_grad inside another could not be exported."""
        if not self.causal:
            raise ValueError("primal_attention: only a causal layer has a state")
        self._check_whole("step")
        state = _state(state)
        if self._is_plain():
            check_state(state, tokens)
            result = self._in_plain_pytorch(tokens, None, (mask, None), reference.Past(*state))
            assert result.past is not None  # it was given
            return result.out, State(*result.past)
        out, *after = torch.ops.primal.attention_step(
            *self._operands(tokens, None, (mask, None)), **self._switches(), **state._asdict()
        )
        return out, State(*after)

    def extra_repr(self) -> str:
        rows = f", rows={self.rows}" if self.data_dependent else ""
        name = getattr(self.feature_map, "__name__", self.feature_map)
        default = {"data_dependent": not self.causal} | _DEFAULTS
        if self.memory == "decay":
            default["memory_tokens"] = None  # always told
        others = [
            f", {option}={getattr(self, option)}" for option in default if getattr(self, option) != default[option]
        ]
        return f"{self.embed_dim}, {self.num_heads}, rank={self.rank}{rows}, feature_map={name}{''.join(others)}"

    def _check_whole(self, method: str) -> None:
        check_whole("PrimalAttention", self.we, method)

    def _parameters_now(self) -> reference.Parameters:
        return reference.Parameters(
            self.q_proj.weight,
            self.q_proj.bias,
            self.k_proj.weight,
            self.k_proj.bias,
            self.we,
            self.wr,
            self.lambda_(),
            self._score_weight(),
            self.score_proj.bias,
            self.out_proj.weight,
            self.out_proj.bias,
            self.log_scale,
        )

    def _score_weight(self) -> Tensor:
        """[d, 2s], as the operators take it: scores that are not in the output have weights of zero."""
        if self.projections == "both":
            return self.score_proj.weight
        return F.pad(self.score_proj.weight, (0, self.rank) if self.projections == "right" else (self.rank, 0))

    def _from_scores(self, scores: Tensor) -> Tensor:
        """score_proj, of those among the scores [..., 2s] that it sees."""
        if self.projections == "both":
            return self.score_proj(scores)  # type: ignore[no-any-return]
        return self.score_proj(scores.chunk(2, -1)[self.projections == "left"])  # type: ignore[no-any-return]

    def _operands(
        self, query: Tensor, key: Tensor | None, masks: tuple[Tensor | None, Tensor | None]
    ) -> tuple[Tensor | None, ...]:
        """The tensors of the operators, in their order."""
        *weights, log_scale = self._parameters_now()
        return (query, key, *weights, *masks, log_scale)

    def _switches(self) -> dict[str, Any]:
        return {
            "feature_map": self.feature_map,
            "causal": self.causal,
            "data_dependent": self.data_dependent,
            "respect_padding": self.padding == "respect",
            "trace_on_data": self.trace == "data_dependent",
            "sampling": self.sampling,
        }

    def _is_plain(self) -> bool:
        """Asked for, or the only way: the operator reads the weights of the linear maps and calls none of them."""
        return (
            self.implementation == "plain"
            or callable(self.feature_map)
            or torch.onnx.is_in_onnx_export()  # ONNX has no such operator
            or any_global_hook()
            or not untouched(self, ("q_proj", "k_proj", "score_proj", "out_proj"), nn.Linear)
        )

    def _in_plain_pytorch(
        self,
        query: Tensor,
        key: Tensor | None,
        masks: tuple[Tensor | None, Tensor | None],
        past: reference.Past | None = None,
    ) -> reference.Result:
        """The pass by PyTorch's own functions. The operator's checks are made here."""
        if self.causal and key is not None:
            raise ValueError("primal_attention: causal attention takes one sequence, got a key as well")
        for name, x in {"query": query, "key": query if key is None else key}.items():
            if x.dtype not in (torch.float32, torch.float64, torch.bfloat16):
                raise TypeError(f"primal_attention: {name} must be float32, float64 or bfloat16, got {x.dtype}")
            if x.dim() != 3 or x.shape[0] != query.shape[0] or x.shape[2] != self.embed_dim:
                expected = f"[{query.shape[0]}, N, {self.embed_dim}]"
                raise ValueError(f"primal_attention: {name} must be [B, N, D] = {expected}, got {list(x.shape)}")
        maps = reference.Maps(
            self.q_proj, self.k_proj, self.we, self.wr, self.lambda_(), self._from_scores, self.out_proj, self.log_scale
        )
        return reference.attention(query, key, maps, **self._reference_options(masks), past=past)

    def _reference_options(self, masks: tuple[Tensor | None, Tensor | None]) -> dict[str, Any]:
        return {
            "query_padding_mask": masks[0],
            "key_padding_mask": masks[1],
            "feature_map": in_python(self.feature_map),
            "causal": self.causal,
            "data_dependent": self.data_dependent,
            "padding": self.padding,
            "trace": self.trace,
            "sampling": self.sampling,
        }

    def _masks(
        self,
        query: Tensor,
        key: Tensor | None,
        query_mask: Tensor | None,
        key_mask: Tensor | None,
        lengths: Lengths | None,
        key_lengths: Lengths | None,
        name: str = "query",
    ) -> tuple[Tensor | None, Tensor | None]:
        check_tokens("PrimalAttention", name, query)
        if key is None:  # one sequence: its mask may come under either name
            if key_lengths is not None:
                raise ValueError("PrimalAttention: key_lengths without a key; self-attention takes lengths")
            masks = {"key_padding_mask": key_mask, "query_padding_mask": query_mask}
            return one_mask("PrimalAttention", query, masks, {"lengths": lengths}), None
        check_tokens("PrimalAttention", "key", key)
        return (
            one_mask("PrimalAttention", query, {"query_padding_mask": query_mask}, {"lengths": lengths}),
            one_mask("PrimalAttention", key, {"key_padding_mask": key_mask}, {"key_lengths": key_lengths}),
        )


def _state(given: object) -> State:
    """Also of a plain tuple, as a file or another program may give it."""
    if isinstance(given, tuple | list) and len(given) == 3 and all(isinstance(part, Tensor) for part in given):
        return State(*given)
    raise TypeError(f"PrimalAttention: state must be a State of three tensors, got {type(given).__name__}")

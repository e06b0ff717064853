"""A whole PrimalFormer layer: attention, feed-forward part, norms and residuals, computed tile by tile on the CPU."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from primal._export import is_empty, register_for_export
from primal._inputs import Lengths, check_choice, check_mask, check_tokens, count, flag, one_mask, probability, size
from primal.attention import PrimalAttention, State
from primal.ksvd import KsvdTerms
from primal.token_mixing import MixingState, TokenMixing
from primal.untouched import any_global_hook, untouched

FUSED_DTYPES = [d for d in (torch.float32, torch.bfloat16) if torch.ops.primal_util.is_fused(d)]
RECOMPUTED_WIDTH = 128  # up to there recomputing costs at most 6 % of the time


class LayerState(NamedTuple):
    """What a causal layer with a memory or a kernel remembers of the past. Returned anew by every step."""

    attention: State
    sums: Tensor  # [B, S, D] float64; S = 0 without a memory
    recent: Tensor  # [B, K - 1, D]; [B, 0, D] without a kernel


register_for_export(LayerState)


class EncoderLayer(nn.Module):
    """post-norm: x = norm1(x + attention(x)); x = norm2(x + feed_forward(x)). pre-norm: the norms before each part.

    With a memory or a kernel the attention sees tokens that a TokenMixing, the part `mixing`, has mixed with their
    neighbours; the residual keeps them as they are.

    On the CPU in float32, with the cosine feature map, the layer runs as one operator that keeps its intermediates in
    cache; elsewhere, and when a part has hooks or was replaced, the same layer is composed of its parts. So does
    bfloat16 where the CPU cannot multiply such numbers itself: they are stored so and computed in float32.

    Args:
        embed_dim, num_heads, rank, rows: of the PrimalAttention.
        feed_forward: inner width of the feed-forward part.
        dropout: after the attention, inside and after the feed-forward part.
        norm_first: pre-norm.
        activation: "gelu" or "relu".
        recompute: keep only the input for the backward pass and compute the rest again: the least memory, and a third
            more arithmetic. Default: up to width 128, where it costs at most 6 % of the time.
        memory: "none" (published), or "decay": what the attention sees is the tokens plus fading averages of them, both
            ways unless the attention is causal.
        memory_scales: time scales of the memory, per channel.
        memory_tokens: the longest of them to begin with; best the length of the sequences. Also the attention's.
        kernel: of a depth-wise convolution before the memory: so many tokens, the last ones if the attention is causal,
            else those around each, and odd. 0: none (published).
        attention_memory: the memory of a causal PrimalAttention: "mean" (published) or "decay".
        implementation: "plain": composed of its parts, all of them PyTorch's own functions, as PrimalAttention says.
        **attention: further options of PrimalAttention.

    Example::

        layer = primal.EncoderLayer(512, 8, rank=30, feed_forward=2048, dropout=0.1)
        out, terms = layer(x, lengths=lengths)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        rank: int,
        rows: int | None = None,
        *,
        feed_forward: int,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Literal["gelu", "relu"] = "gelu",
        recompute: bool | None = None,
        memory: Literal["none", "decay"] = "none",
        memory_scales: int = 4,
        memory_tokens: int = 1024,
        kernel: int = 0,
        attention_memory: Literal["mean", "decay"] = "mean",
        implementation: Literal["auto", "plain"] = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **attention: Any,
    ) -> None:
        super().__init__()
        feed_forward = size("EncoderLayer", "feed_forward", feed_forward)
        dropout = probability("EncoderLayer", "dropout", dropout)
        check_choice("EncoderLayer", "activation", activation, ("gelu", "relu"))
        check_choice("EncoderLayer", "attention_memory", attention_memory, ("mean", "decay"))
        memory_tokens = size("EncoderLayer", "memory_tokens", memory_tokens)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.feed_forward, self.dropout = feed_forward, dropout
        self.norm_first, self.activation = flag("EncoderLayer", "norm_first", norm_first), activation
        self.attention = PrimalAttention(
            embed_dim,
            num_heads,
            rank,
            rows,
            memory=attention_memory,
            memory_tokens=memory_tokens,
            implementation=implementation,
            **attention,
            **factory,
        )
        recompute = embed_dim <= RECOMPUTED_WIDTH if recompute is None else recompute
        self.recompute = flag("EncoderLayer", "recompute", recompute)
        self._padding = self.attention.padding  # of the attention, should a wrapper hide it
        self.linear1 = nn.Linear(embed_dim, feed_forward, **factory)
        self.linear2 = nn.Linear(feed_forward, embed_dim, **factory)
        self.norm1 = nn.LayerNorm(embed_dim, **factory)
        self.norm2 = nn.LayerNorm(embed_dim, **factory)
        self.mixing = self._mixing(memory, memory_scales, memory_tokens, kernel, factory)

    def _mixing(
        self, memory: Literal["none", "decay"], scales: int, tokens: int, kernel: int, factory: dict[str, Any]
    ) -> TokenMixing | None:
        check_choice("EncoderLayer", "memory", memory, ("none", "decay"))
        scales = size("EncoderLayer", "memory_scales", scales)
        if memory == "none" and count("EncoderLayer", "kernel", kernel) == 0:
            return None
        return TokenMixing(
            self.attention.embed_dim,
            memory=memory,
            scales=scales,
            tokens=tokens,
            causal=self.attention.causal,
            kernel=kernel,
            implementation=self.attention.implementation,
            **factory,
        )

    def reset_parameters(self) -> None:
        names = ("attention", "linear1", "linear2", "norm1", "norm2", "mixing")
        parts: dict[str, Any] = {name: self._modules[name] for name in names if name in self._modules}
        if parts.get("mixing", self) is None:  # taken away
            del parts["mixing"]
        for name, part in parts.items():
            if not hasattr(part, "reset_parameters"):
                raise RuntimeError(f"EncoderLayer: {name} is a {type(part).__name__}, which has no reset_parameters")
        for part in parts.values():
            part.reset_parameters()

    def forward(
        self,
        x: Tensor,
        key_padding_mask: Tensor | None = None,
        unread: Tensor | None = None,
        *,
        lengths: Lengths | None = None,
        padding: Tensor | None = None,
    ) -> tuple[Tensor, KsvdTerms]:
        """x: [B, N, D]; key_padding_mask: [B, N] bool, True = padded, or lengths: [B]. Padded tokens are taken for 0,
        unless the attention ignores padding: whatever stands in them, even NaN, reaches no other token and no gradient.

        unread: [B, N] bool, tokens whose output nobody reads, such as the padded ones below a head that drops them. The
        output is 0 there, and the operator saves what lies behind the attention's scores. padding: an older name of
        key_padding_mask.
        """
        check_tokens("EncoderLayer", "x", x)
        masks = {"key_padding_mask": key_padding_mask, "padding": padding}
        padding = one_mask("EncoderLayer", x, masks, {"lengths": lengths})
        if unread is not None:
            check_mask("EncoderLayer", "unread", unread, x)
        if self._can_fuse(x):
            return self._fused(x, padding, unread)
        out, terms = self._composed(x, padding)
        return out if unread is None else out.masked_fill(unread.unsqueeze(-1), 0), terms

    def initial_state(self, batch_size: int) -> State | LayerState:
        """The state before the first token of a causal layer: a LayerState if it has a memory or a kernel."""
        self._check_steps("initial_state")
        state = self.attention.initial_state(batch_size)
        return state if self.mixing is None else LayerState(state, *self.mixing.initial_state(batch_size))

    @torch.no_grad()
    def step(
        self, tokens: Tensor, state: State | LayerState, *, key_padding_mask: Tensor | None = None
    ) -> tuple[Tensor, State | LayerState]:
        """The next tokens [B, T, D] of a causal layer after `state`: their output and the state after them.

        Equal to the full pass in evaluation mode, whatever the mode. Refused when the attention or the mixing has
        hooks, was replaced or overrides forward, which a step could not obey.
        """
        self._check_steps("step")
        check_tokens("EncoderLayer", "tokens", tokens)
        mask = one_mask("EncoderLayer", tokens, {"key_padding_mask": key_padding_mask}, {})
        tokens = self._cleared(tokens, mask)
        seen: Tensor = self.norm1(tokens) if self.norm_first else tokens
        if self.mixing is None:
            attended, after = self.attention._step(seen, _attention_state(state), mask)
            return self._behind_attention(tokens, attended, training=False), after
        past, sums, recent = _layer_state(state)
        mixed, mixing_after = self.mixing._step(seen, MixingState(sums, recent), self._left_out(mask))
        attended, after = self.attention._step(mixed, past, mask)
        return self._behind_attention(tokens, attended, training=False), LayerState(after, *mixing_after)

    def extra_repr(self) -> str:
        return (
            f"feed_forward={self.feed_forward}, dropout={self.dropout}, norm_first={self.norm_first}, "
            f"activation={self.activation}, recompute={self.recompute}"
        )

    def _check_steps(self, method: str) -> None:
        """A step is no call of the attention: what changes its forward would be passed over."""
        whole = {"attention": untouched(self, ("attention",), PrimalAttention)}
        if self.mixing is not None:
            whole["mixing"] = untouched(self, ("mixing",), TokenMixing)
        if any_global_hook() or not all(whole.values()):
            part = next((name for name, is_whole in whole.items() if not is_whole), "attention")
            kind = type(self._modules[part]).__name__
            raise RuntimeError(
                f"EncoderLayer: {method} cannot obey hooks (global ones too), a wrapper or another forward of the "
                f"{part}, a {kind}; take them off, or call the layer on the whole sequence"
            )

    def _can_fuse(self, x: Tensor) -> bool:
        return (
            x.is_cpu
            and x.dtype in FUSED_DTYPES
            and self._parts_are_untouched()
            and self.linear1.weight.dtype == x.dtype
            and self.attention.feature_map == "cosine"
            and self._heads_share_scales()
            and not any(is_empty(x, dim) for dim in range(3))
            and not torch.is_autocast_enabled("cpu")
        )

    def _heads_share_scales(self) -> bool:
        """As they do unless log_scale was replaced: the operator fades all channels of a head alike."""
        log_scale = self.attention.log_scale
        return log_scale is None or self.attention.num_heads % log_scale.shape[0] == 0

    def _parts_are_untouched(self) -> bool:
        """The operator reads their weights and calls none of them. It has one eps, and all biases."""
        parts: dict[str, Any] = self._modules
        return (
            untouched(self, ("attention",), PrimalAttention)
            and untouched(self, ("linear1", "linear2"), nn.Linear)
            and untouched(self, ("norm1", "norm2"), nn.LayerNorm)
            and not parts["attention"]._is_plain()
            and all(parts[name].bias is not None for name in ("linear1", "linear2", "norm1", "norm2"))
            and parts["norm1"].eps == parts["norm2"].eps
            and len(parts["norm1"].normalized_shape) == len(parts["norm2"].normalized_shape) == 1
        )

    def _fused(self, x: Tensor, padding: Tensor | None, unread: Tensor | None) -> tuple[Tensor, KsvdTerms]:
        attention, attended = self.attention, None
        if self.mixing is not None:
            x = self._cleared(x, padding)
            attended = self.mixing(self._norm1_in_two_steps(x) if self.norm_first else x, self._left_out(padding))
        drops = self.training and self.dropout > 0
        *weights, log_scale = attention._parameters_now()
        parameters = [x.new_empty(0) if p is None else p for p in weights]
        for module in (self.norm1, self.norm2, self.linear1, self.linear2):
            parameters += [module.weight, module.bias]
        out, *terms = torch.ops.primal.encoder_layer(
            x,
            parameters,
            padding,
            unread,
            data_dependent=attention.data_dependent,
            respect_padding=attention.padding == "respect",
            trace_on_data=attention.trace == "data_dependent",
            sampling=attention.sampling,
            norm_first=self.norm_first,
            activation=self.activation,
            epsilon=self.norm1.eps,
            dropout=self.dropout if drops else 0.0,
            seeds=torch.randint(2**62, (3,)) if drops else None,
            recompute=self.recompute,
            attended=attended,
            causal=attention.causal,
            log_scale=log_scale,
        )
        return out, KsvdTerms(*terms)

    def _composed(self, x: Tensor, padding: Tensor | None) -> tuple[Tensor, KsvdTerms]:
        x = self._cleared(x, padding)
        attended, terms = self.attention(self._attention_input(x, padding), key_padding_mask=padding)
        return self._behind_attention(x, attended, self.training), terms

    def _cleared(self, x: Tensor, padding: Tensor | None) -> Tensor:
        """NaN times the zero gradient of a padded token would reach the gradients of norms and linear maps."""
        left_out = self._left_out(padding)
        return x if left_out is None else x.masked_fill(left_out.unsqueeze(-1), 0)

    def _left_out(self, padding: Tensor | None) -> Tensor | None:
        """The padded tokens, unless the attention lets them count."""
        return None if getattr(self.attention, "padding", self._padding) == "ignore" else padding

    def _attention_input(self, x: Tensor, padding: Tensor | None) -> Tensor:
        """x as the attention sees it."""
        seen: Tensor = self.norm1(x) if self.norm_first else x
        return seen if self.mixing is None else self.mixing(seen, self._left_out(padding))

    def _norm1_in_two_steps(self, x: Tensor) -> Tensor:
        """norm1 beside the operator: PyTorch's gradient of its weights has other bits for other numbers of threads."""
        plain = F.layer_norm(x, self.norm1.normalized_shape, eps=self.norm1.eps)
        return torch.addcmul(self.norm1.bias, plain, self.norm1.weight).to(x.dtype)

    def _behind_attention(self, x: Tensor, attended: Tensor, training: bool) -> Tensor:
        """Residuals, norms and the feed-forward part. Only training draws dropout."""

        def drop(y: Tensor) -> Tensor:
            return F.dropout(y, self.dropout, training)

        def feed_forward(y: Tensor) -> Tensor:
            inner = self.linear1(y)
            return drop(self.linear2(drop(F.gelu(inner) if self.activation == "gelu" else F.relu(inner))))

        middle = x + drop(attended)
        if self.norm_first:
            return middle + feed_forward(self.norm2(middle))
        middle = self.norm1(middle)
        out: Tensor = self.norm2(middle + feed_forward(middle))
        return out


def _attention_state(given: State | LayerState) -> State:
    if isinstance(given, LayerState):
        raise TypeError("EncoderLayer: a LayerState is of a layer with a memory or a kernel, and this one has neither")
    return given


def _layer_state(given: object) -> LayerState:
    """Also of a plain tuple, as a file or another program may give it."""
    if isinstance(given, tuple | list) and len(given) == 3 and not isinstance(given, State):
        attention, *mixing = given
        if isinstance(attention, tuple | list) and all(isinstance(part, Tensor) for part in mixing):
            return LayerState(*given)
    raise TypeError(f"EncoderLayer: state must be a LayerState of this layer, got {type(given).__name__}")

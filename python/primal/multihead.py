"""Primal-Attention with the calling convention of nn.MultiheadAttention, for models that have one already."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from primal._inputs import check_tensor, flag
from primal.attention import PrimalAttention
from primal.ksvd import KsvdTerms


class MultiheadPrimalAttention(nn.Module):
    """Stands where an nn.MultiheadAttention stood, called in the same way.

    Primal-Attention has neither values nor a matrix of weights: `value` must be the key, `need_weights` False, and a
    mask between tokens can only be the causal one, of a layer that was built with causal=True (which is causal in every
    call).

    Args:
        embed_dim, num_heads, rank, rows: of the PrimalAttention.
        batch_first: tokens are [B, N, D] instead of [N, B, D].
        **attention: further options of PrimalAttention.

    Example::

        layer = nn.TransformerEncoderLayer(512, 8, batch_first=True)
        layer.self_attn = primal.MultiheadPrimalAttention(512, 8, rank=30, batch_first=True)
        out = layer(x, src_key_padding_mask=mask)
        loss = task_loss(out) + primal.ksvd_loss(primal.collect_terms(layer), eta=0.1)
    """

    # What nn.TransformerEncoder and its layers read to see whether they may call a kernel of their own in place of this
    # module: they may not.
    _qkv_same_embed_dim = False
    in_proj_bias = None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        rank: int,
        rows: int | None = None,
        *,
        batch_first: bool = False,
        **attention: Any,
    ) -> None:
        super().__init__()
        self.batch_first = flag("MultiheadPrimalAttention", "batch_first", batch_first)
        self.attention = PrimalAttention(embed_dim, num_heads, rank, rows, **attention)
        self._terms: KsvdTerms | None = None

    @property
    def embed_dim(self) -> int:
        return self.attention.embed_dim

    @property
    def num_heads(self) -> int:
        return self.attention.num_heads

    @property
    def out_proj(self) -> nn.Linear:
        return self.attention.out_proj

    @property
    def in_proj_weight(self) -> _NoWeight:
        return _NoWeight()

    @property
    def terms(self) -> KsvdTerms | None:
        """The KSVD terms of the last call, with their graph; None before it, after collect_terms and in a copy."""
        return self._terms

    def reset_parameters(self) -> None:
        self.attention.reset_parameters()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, None]:
        """query: [B, N, D] or [N, B, D] (as batch_first says) or [N, D]; key and value: the same tensor, of Nk tokens.

        Self-attention when the key is the query itself (no view or detached copy of it), else cross-attention.
        key_padding_mask: [B, Nk], bool (True = padded) or float (-inf = padded, else 0). Returns the output, shaped
        like the query, and None for the weights.
        """
        for name, x in {"query": query, "key": key, "value": value}.items():
            check_tensor("MultiheadPrimalAttention", name, x)
            if x.dim() not in (2, 3) or x.dim() != query.dim():
                raise _error(f"{name} must have 3 dimensions, or all 2, got {list(x.shape)}")
        if need_weights:
            raise _error("there are no attention weights to return; pass need_weights=False")
        if not _same_values(key, value):
            raise _error("value must be the same tensor as key: Primal-Attention has no values")
        self._check_causal(attn_mask, is_causal, query)
        mask = None if key_padding_mask is None else _bool_mask(key_padding_mask, key.dim() - 1)
        other = None if _same_tensor(query, key) else key
        if query.dim() == 2:
            mask = None if mask is None else mask[None]
            out = self._batched(query[None], None if other is None else other[None], mask)[0]
        elif self.batch_first:
            out = self._batched(query, other, mask)
        else:
            other = None if other is None else other.transpose(0, 1)
            out = self._batched(query.transpose(0, 1), other, mask).transpose(0, 1)
        return out, None

    def extra_repr(self) -> str:
        return f"batch_first={self.batch_first}"

    def __getstate__(self) -> dict[str, Any]:
        """Copies and files hold no graph of a past call."""
        return {**self.__dict__, "_terms": None}

    def _batched(self, query: Tensor, key: Tensor | None, mask: Tensor | None) -> Tensor:
        out: Tensor
        out, terms = self.attention(query, key, key_padding_mask=mask)
        if not torch.compiler.is_exporting():  # an exported program has no attributes to keep them in
            self._terms = terms
        return out

    def _check_causal(self, attn_mask: Tensor | None, is_causal: bool, query: Tensor) -> None:
        if attn_mask is None and not is_causal:
            return
        if not self.attention.causal:
            name = "is_causal=True" if attn_mask is None else "attn_mask"
            raise _error(f"{name} needs a layer built with causal=True, and no other mask between tokens exists")
        if attn_mask is None:
            return
        if torch.compiler.is_compiling():  # looking at values would break the graph
            if not is_causal:
                raise _error("attn_mask in a compiled graph must be causal; say so by is_causal=True")
            return
        tokens = query.shape[1 if self.batch_first and query.dim() == 3 else 0]
        if attn_mask.shape != (tokens, tokens) or not torch.equal(
            _bool_mask(attn_mask, 2, "attn_mask"), torch.ones_like(attn_mask, dtype=torch.bool).triu(1)
        ):
            raise _error(f"attn_mask must be the causal one, [{tokens}, {tokens}] and True or -inf above the diagonal")


def collect_terms(model: nn.Module) -> list[KsvdTerms]:
    """Takes the KSVD terms of the last call out of every MultiheadPrimalAttention of a model, for ksvd_loss.

    Raises ValueError if there is none, or if the terms of a layer in training carry no gradient, as after
    torch.no_grad or checkpointing with use_reentrant=True.
    """
    result = []
    for name, module in model.named_modules():
        if not isinstance(module, MultiheadPrimalAttention) or module._terms is None:
            continue
        terms, module._terms = module._terms, None
        wanted = torch.is_grad_enabled() and module.training and module.attention.we.requires_grad
        if wanted and not terms.le.requires_grad:
            raise ValueError(
                f"collect_terms: those of {name!r} carry no gradient; did no_grad or a checkpoint with "
                "use_reentrant=True surround the call?"
            )
        result.append(terms)
    if not result:
        raise ValueError("collect_terms: no MultiheadPrimalAttention of the model has been called since the last time")
    return result


class _NoWeight:
    """In place of in_proj_weight: nn.TransformerEncoder takes no shortcut around an operand with this method."""

    @classmethod
    def __torch_function__(cls, *_: object) -> object:
        raise _error("in_proj_weight does not exist; the maps are attention.q_proj and attention.k_proj")


def _error(message: str) -> ValueError:
    return ValueError(f"MultiheadPrimalAttention: {message}")


def _same_values(one: Tensor, other: Tensor) -> bool:
    """Whether they are one tensor, or show the same memory in the same way."""
    return one is other or (not torch.compiler.is_compiling() and one.shape == other.shape and one.is_set_to(other))


def _same_tensor(one: Tensor, other: Tensor) -> bool:
    """Whether a gradient of the one is a gradient of the other.

    A checkpoint with use_reentrant=True calls again in the backward pass, with each argument detached for itself."""
    if one is other or torch.compiler.is_compiling():
        return one is other
    leaves = one.is_leaf and other.is_leaf and one.requires_grad and other.requires_grad
    return leaves and torch._C._current_graph_task_id() != -1 and _same_values(one, other)


def _bool_mask(mask: Tensor, dim: int, name: str = "key_padding_mask") -> Tensor:
    """As True = masked; PyTorch's own modules pass float masks on."""
    if not isinstance(mask, Tensor) or mask.dim() != dim:
        got = list(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise _error(f"{name} must be a tensor of {dim} dimensions, got {got}")
    if mask.dtype == torch.bool:
        return mask
    if not mask.is_floating_point():
        raise TypeError(f"MultiheadPrimalAttention: {name} must be bool or float, got {mask.dtype}")
    masked = mask == -torch.inf
    if not torch.compiler.is_compiling() and not bool((masked | (mask == 0)).all()):
        raise _error(f"a float {name} must be 0 or -inf everywhere")
    return masked

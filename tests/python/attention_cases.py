"""Layers, tokens, masks and comparisons that the attention tests share."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from primal import PrimalAttention, reference

MODES = {
    "data_dependent": {"data_dependent": True},
    "data_independent": {"data_dependent": False},
    "causal": {"causal": True},
    "causal decay": {"causal": True, "memory": "decay", "memory_tokens": 9},
}
CAUSAL = [mode for mode in MODES if mode.startswith("causal")]
FEATURE_MAPS = ("cosine", "exponential", "identity", "polynomial(2)")
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}  # where two ways of one computation must agree

OUTPUTS = ("out", "le", "lr", "tr")
DIFFERENTIABLE = ("query", "key", *reference.Parameters._fields)  # of torch.ops.primal.attention, but for the masks


def make_layer(width=12, heads=3, rank=4, rows=5, *, dtype=torch.float64, **options) -> PrimalAttention:
    return PrimalAttention(width, heads, rank, rows, dtype=dtype, **options)


def random_tokens(batch, tokens, width=12, dtype=torch.float64) -> Tensor:
    return torch.randn(batch, tokens, width, dtype=torch.float64).to(dtype)


def random_arguments(mode: str, feature_map="cosine", *, key_tokens=None, masks=False, dtype=torch.float64, bias=True):
    """Positional and keyword arguments of torch.ops.primal.attention. B=2, N=3, D=6, H=2, s=2, n=4."""
    layer = make_layer(6, 2, 2, 4, feature_map=feature_map, bias=bias, dtype=dtype, **MODES[mode])
    key = None if key_tokens is None else random_tokens(2, key_tokens, 6, dtype)
    query_padding = torch.tensor([[False, False, True], [True, False, False]]) if masks else None
    key_padding = torch.arange(key_tokens).repeat(2, 1) == 1 if masks and key_tokens is not None else None
    tensors = layer._operands(random_tokens(2, 3, 6, dtype), key, (query_padding, key_padding))
    return tuple(None if t is None else t.detach() for t in tensors), layer._switches()


def oracle(
    layer: PrimalAttention,
    query,
    key=None,
    query_mask=None,
    key_mask=None,
    parameters: reference.Parameters | None = None,
) -> reference.Result:
    """The same pass in eager PyTorch, with the layer's parameters unless others are given."""
    options = layer._reference_options((query_mask, key_mask))
    return reference.attention(query, key, parameters or layer._parameters_now(), **options)


def read_out(outputs: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
    """A number in which each entry of each output has another weight; `weight` replaces the one of the first output."""
    total = torch.zeros(())
    for i, output in enumerate(outputs):
        if weight is None or i > 0:
            weight = torch.randn(output.shape, generator=torch.Generator().manual_seed(i), dtype=torch.float64)
        total = total + (output * weight.to(output)).sum()
    return total


def with_gradients(
    outputs: Sequence[Tensor], inputs: Mapping[str, Tensor], weight: Tensor | None = None
) -> dict[str, Tensor]:
    """The four outputs of the layer and the gradients of their read-out for every input."""
    loss = read_out(outputs, weight)
    grads = torch.autograd.grad(loss, list(inputs.values()), allow_unused=True, materialize_grads=True)
    named_grads = {f"grad.{name}": grad for name, grad in zip(inputs, grads, strict=True)}
    return dict(zip(OUTPUTS, (output.detach() for output in outputs), strict=True)) | named_grads


def run(layer: PrimalAttention, x: Tensor, key: Tensor | None = None, *, weight=None, **masks) -> dict[str, Tensor]:
    """Outputs and all gradients of a layer; those of the tokens are grad.x and grad.key."""
    tokens = {"x": x.detach().clone().requires_grad_()}
    if key is not None:
        tokens["key"] = key.detach().clone().requires_grad_()
    out, terms = layer(*tokens.values(), **masks)
    return with_gradients((out, *terms), tokens | dict(layer.named_parameters()), weight)


def assert_near(actual, expected, tolerance: float) -> None:
    """No entry differs by more than tolerance times the largest expected one. Tensors, sequences or dicts of them."""
    if isinstance(expected, Mapping):
        assert actual.keys() == expected.keys()
        pairs = {name: (actual[name], expected[name]) for name in expected}
    elif isinstance(expected, Tensor):
        pairs = {"": (actual, expected)}
    else:
        pairs = dict(enumerate(zip(actual, expected, strict=True)))
    for name, (ours, theirs) in pairs.items():
        assert ours.shape == theirs.shape, f"{name}: {list(ours.shape)} instead of {list(theirs.shape)}"
        if theirs.numel() == 0:
            continue
        difference = (ours.double() - theirs.double()).abs().max().item()
        largest = theirs.double().abs().max().item()
        # The small constant is for what is 0 in exact arithmetic.
        assert difference <= tolerance * (largest + 1e-2), f"{name}: off by {difference:.3g}, largest {largest:.3g}"

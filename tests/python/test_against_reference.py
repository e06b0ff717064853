"""Whatever the sizes, modes, masks and strides: outputs, terms, scores and all gradients are those of the oracle."""

from dataclasses import dataclass

import torch
from attention_cases import (
    DIFFERENTIABLE,
    FEATURE_MAPS,
    MODES,
    OUTPUTS,
    assert_near,
    make_layer,
    oracle,
    random_tokens,
    with_gradients,
)
from hypothesis import event, given, settings
from hypothesis import strategies as st

from primal import reference

MASKS = ("none", "arbitrary", "lengths", "all padded")
STRIDES = ("contiguous", "transposed", "sliced", "expanded")


@dataclass(frozen=True)
class Case:
    mode: str
    feature_map: str
    batch: int
    tokens: int
    key_tokens: int | None  # of the key sequence; None: self-attention
    heads: int
    head_dim: int
    rank: int
    rows: int
    query_mask: str
    key_mask: str
    strides: str
    options: dict
    seed: int

    @property
    def width(self):
        return self.heads * self.head_dim


@st.composite
def cases(draw, modes=tuple(MODES), cross=False):
    return Case(
        mode=draw(st.sampled_from(modes)),
        feature_map=draw(st.sampled_from([*FEATURE_MAPS, "polynomial(3)"])),
        batch=draw(st.integers(0, 3)),
        tokens=draw(st.integers(0, 9)),
        key_tokens=draw(st.integers(0, 9)) if cross else None,
        heads=draw(st.integers(1, 3)),
        head_dim=draw(st.integers(2, 6)),  # a unit vector of width 1 is +-1: gradients of q and k are rounding alone
        rank=draw(st.integers(1, 7)),
        rows=draw(st.integers(1, 12)),
        query_mask=draw(st.sampled_from(MASKS)),
        key_mask=draw(st.sampled_from(MASKS)) if cross else "none",
        strides=draw(st.sampled_from(STRIDES)),
        options={
            "padding": draw(st.sampled_from(["respect", "ignore"])),
            "trace": draw(st.sampled_from(["raw", "data_dependent"])),
            "sampling": draw(st.sampled_from(["exact", "linspace", "legacy"])),
            "bias": draw(st.booleans()),
        },
        seed=draw(st.integers(0, 2**16)),
    )


def make_mask(kind, strides, batch, tokens):
    if kind == "none":
        return None
    if kind == "arbitrary":
        mask = torch.rand(batch, tokens) < 0.5
    elif kind == "lengths":
        mask = torch.arange(tokens) >= torch.randint(0, tokens + 1, (batch, 1))
    else:
        mask = torch.ones(batch, tokens, dtype=torch.bool)
    return mask if strides == "contiguous" else mask.t().contiguous().t()


def make_tokens(strides, batch, tokens, width):
    if strides == "transposed":
        return random_tokens(tokens, batch, width).transpose(0, 1)
    if strides == "sliced":
        return random_tokens(batch, 2 * tokens, width + 3)[:, ::2, 1:-2]
    if strides == "expanded":
        return random_tokens(1, tokens, width).expand(batch, tokens, width)
    return random_tokens(batch, tokens, width)


def make_inputs(case):
    torch.manual_seed(case.seed)
    layer = make_layer(
        case.width, case.heads, case.rank, case.rows, feature_map=case.feature_map, **MODES[case.mode], **case.options
    )
    query = make_tokens(case.strides, case.batch, case.tokens, case.width)
    query_mask = make_mask(case.query_mask, case.strides, case.batch, case.tokens)
    if case.key_tokens is None:
        return layer, query, None, query_mask, None
    key = make_tokens(case.strides, case.batch, case.key_tokens, case.width)
    return layer, query, key, query_mask, make_mask(case.key_mask, case.strides, case.batch, case.key_tokens)


def as_leaf(tensor, strides):
    if strides == "transposed" and tensor.dim() == 2:  # weights; the tokens have their strides already
        tensor = tensor.mT.contiguous().mT
    return tensor.detach().requires_grad_()


def assert_equals_oracle(case):
    event(case.mode, case.query_mask)
    layer, query, key, *masks = make_inputs(case)
    given_tensors = dict(zip(DIFFERENTIABLE, (query, key, *layer._parameters_now()), strict=True))
    inputs = {name: as_leaf(tensor, case.strides) for name, tensor in given_tensors.items() if tensor is not None}
    query, key, *weights = (inputs.get(name) for name in DIFFERENTIABLE)

    expected = oracle(layer, query, key, *masks, parameters=reference.Parameters(*weights))
    *weights, log_scale = weights
    tensors = (query, key, *weights, *masks, log_scale)
    actual = torch.ops.primal.attention(*tensors, **layer._switches())
    theirs = [getattr(expected, name) for name in OUTPUTS]
    assert_near(with_gradients(actual, inputs), with_gradients(theirs, inputs), 1e-10)

    scores = torch.ops.primal.attention_scores(*tensors, **layer._switches())
    assert_near(scores, (expected.e, expected.r, expected.we_x, expected.wr_x), 1e-10)


@settings(max_examples=250)
@given(case=cases())
def test_self_attention_equals_the_oracle(case):
    assert_equals_oracle(case)


@settings(max_examples=200)
@given(case=cases(modes=("data_dependent", "data_independent"), cross=True))
def test_cross_attention_equals_the_oracle(case):
    assert_equals_oracle(case)

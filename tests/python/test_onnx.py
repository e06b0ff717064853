"""ONNX: what onnxruntime computes from an exported layer is what the layer computes."""

import io
import logging
import warnings

import onnxruntime
import pytest
import torch
from torch import nn
from torch.export import Dim

import primal

WIDTH = 16
BOTH = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
BATCH = {0: Dim.DYNAMIC}
OPTIONS = [
    {},
    {"data_dependent": False},
    {"causal": True},
    {"causal": True, "memory": "decay"},  # of the attention, and in an encoder layer its own
    {"feature_map": "exponential", "lambda_form": "exp"},
    {"feature_map": "identity", "bias": False},
    {"feature_map": "polynomial(2)", "lambda_form": "softplus"},
    {"sampling": "linspace"},
    {"sampling": "legacy", "trace": "data_dependent"},
    {"padding": "ignore"},
]


def attention(**options):
    return primal.PrimalAttention(WIDTH, 4, 3, 5, **options)


def encoder_layer(**options):
    return primal.EncoderLayer(WIDTH, 4, 3, 5, feed_forward=20, **options)


class Layers(nn.Module):
    """Several layers beside each other: exporting one costs about as much as exporting all."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, mask):
        return [layer(x, key_padding_mask=mask) for layer in self.layers]


def tokens(batch, length):
    return torch.randn(batch, length, WIDTH)


def mask(batch, length):
    return primal.padding_mask(torch.randint(1, length + 1, (batch,)), length)


def assert_same_in_onnx(model, inputs, shapes):
    """inputs: makes the arguments for a batch and a length."""
    model.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        program = torch.onnx.export(model, inputs(3, 7), dynamic_shapes=shapes, dynamo=True, verbose=False)
        logging.disable(logging.NOTSET)
    file = io.BytesIO()
    program.save(file)
    session = onnxruntime.InferenceSession(file.getvalue())
    for batch, length in ((2, 5), (5, 30)):
        arguments = inputs(batch, length)
        with torch.no_grad():
            expected = torch.utils._pytree.tree_leaves(model(*arguments))
        names = [given.name for given in session.get_inputs()]
        outputs = session.run(None, {n: a.numpy() for n, a in zip(names, arguments, strict=True)})
        for ours, theirs in zip(outputs, expected, strict=True):
            torch.testing.assert_close(torch.from_numpy(ours), theirs, rtol=1e-5, atol=1e-5)


def test_attention_with_every_option():
    layers = [*(attention(**options) for options in OPTIONS), attention(implementation="plain")]
    assert_same_in_onnx(Layers(layers), lambda *size: (tokens(*size), mask(*size)), (BOTH, BOTH))


ENCODER_OPTIONS = [
    *OPTIONS,
    {"norm_first": True, "dropout": 0.3},
    {"activation": "relu"},
    {"memory": "decay", "kernel": 3},
    {"memory": "decay", "kernel": 2, "causal": True},
]


# A few layers in a model: the time of an export grows faster than its graph.
@pytest.mark.parametrize("first", range(0, len(ENCODER_OPTIONS), 3))
def test_encoder_layer_with_every_option(first):
    layers = [encoder_layer(**options) for options in ENCODER_OPTIONS[first : first + 3]]
    assert_same_in_onnx(Layers(layers), lambda *size: (tokens(*size), mask(*size)), (BOTH, BOTH))


class FlatStep(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, q_sum, k_sum, count):
        return self.layer.step(x, primal.State(q_sum, k_sum, count))


@pytest.mark.parametrize(("make", "memory"), [(attention, "mean"), (attention, "decay"), (encoder_layer, "mean")])
def test_step(make, memory):
    name = "memory" if make is attention else "attention_memory"
    layer = make(causal=True, **{name: memory})

    def inputs(batch, length):
        _, state = layer.step(tokens(batch, 3), layer.initial_state(batch))
        return (tokens(batch, length), *state)

    assert_same_in_onnx(FlatStep(layer), inputs, (BOTH, BATCH, BATCH, BATCH))


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = attention()

    def forward(self, query, key, key_mask):
        return self.attention(query, key, key_padding_mask=key_mask)


def test_cross_attention():
    def inputs(batch, length):
        return tokens(batch, length + 2), tokens(batch, length), mask(batch, length)

    assert_same_in_onnx(Cross(), inputs, (BOTH, BOTH, BOTH))


def test_an_encoder_of_pytorch_with_our_attention():
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 20, batch_first=True)
    layer.self_attn = primal.MultiheadPrimalAttention(WIDTH, 4, 3, 5, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    assert_same_in_onnx(model, lambda *size: (tokens(*size),), (BOTH,))

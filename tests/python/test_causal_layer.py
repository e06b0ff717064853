"""A causal EncoderLayer as one operator, with running and with fading means."""

import copy
import itertools

import pytest
import torch
from test_encoder_layer import (
    assert_gradient_is_that_of_the_values,
    assert_same_as_parts,
    nodes_of_compiled,
    operator_arguments,
    values_and_gradients,
)
from test_encoder_layer import make_layer as make_plain_layer
from test_mixing_layer import exported
from torch import nn
from torch.library import opcheck

import primal
from primal.encoder_layer import FUSED_DTYPES

both_memories = pytest.mark.parametrize("memory", ["mean", "decay"])
pre_and_post = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def make_layer(attention_memory, **options):
    fixed = {"causal": True, "attention_memory": attention_memory, "memory_tokens": 40}
    return make_plain_layer(**(fixed | options))


@both_memories
@pre_and_post
@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
def test_same_as_its_parts(memory, norm_first, recompute, padding):
    for activation, (batch, tokens), bias in itertools.product(
        ("gelu", "relu"), ((1, 1), (3, 29), (2, 500)), (True, False)
    ):
        layer = make_layer(
            memory,
            norm_first=norm_first,
            recompute=recompute,
            activation=activation,
            bias=bias,
            padding=padding or "respect",
        )
        mask = None if padding is None else torch.rand(batch, tokens) < 0.3
        assert_same_as_parts(layer, torch.randn(batch, tokens, 24), mask)


@both_memories
@pre_and_post
@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
def test_unread_tokens(memory, norm_first, recompute, padding):
    layer = make_layer(memory, norm_first=norm_first, recompute=recompute, padding=padding or "respect")
    x = torch.randn(3, 400, 24)
    mask = None if padding is None else primal.padding_mask(torch.tensor([100, 300, 0]), 400)
    for unread in (torch.rand(3, 400) < 0.4, torch.ones(3, 400, dtype=torch.bool), mask):
        assert_same_as_parts(layer, x, mask, unread)
    if mask is not None:
        assert_same_as_parts(layer, x, mask.flip(1))


@both_memories
@pre_and_post
@pytest.mark.parametrize("mixing", [{"memory": "decay"}, {"kernel": 3}, {"memory": "decay", "kernel": 2}], ids=str)
def test_mixed_before_its_attention(memory, norm_first, mixing):
    for padding, recompute in itertools.product(("respect", "ignore"), (False, True)):
        layer = make_layer(memory, norm_first=norm_first, padding=padding, recompute=recompute, **mixing)
        assert_same_as_parts(layer, torch.randn(3, 60, 24), torch.rand(3, 60) < 0.3, torch.rand(3, 60) < 0.3)


@both_memories
@pytest.mark.parametrize("options", [{"trace": "data_dependent"}, {"lambda_form": "exp"}, {"heads": 1}], ids=str)
def test_options_of_the_attention(memory, options):
    assert_same_as_parts(make_layer(memory, norm_first=True, **options), torch.randn(2, 31, 24))


def test_width_of_the_language_models():
    layer = make_layer("decay", width=128, heads=8, rank=20, feed_forward=256, norm_first=True, recompute=False)
    assert_same_as_parts(layer, torch.randn(3, 300, 128))


@both_memories
@pre_and_post
def test_gradients_know_which_numbers_were_dropped(memory, norm_first):
    assert_gradient_is_that_of_the_values(make_layer(memory, norm_first=norm_first, dropout=0.4).train())


@both_memories
@pre_and_post
@pytest.mark.parametrize("filler", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("dtype", "recompute"), [(torch.float32, False), (torch.float32, True), (torch.bfloat16, False)], ids=str
)
def test_whatever_stands_in_padded_tokens_has_no_effect(memory, norm_first, filler, dtype, recompute):
    layer = make_layer(memory, norm_first=norm_first, dropout=0.2, recompute=recompute).to(dtype)
    x, mask = torch.randn(3, 400, 24, dtype=dtype), torch.rand(3, 400) < 0.4
    mask[1, 10:], mask[2] = True, True

    def results(number, unread):
        torch.manual_seed(5)
        tokens = x.masked_fill(mask[..., None], number).requires_grad_()
        out, terms = layer(tokens, mask, unread)
        loss = out.double().square().sum() + sum(term.double().sum() for term in terms)
        grads = torch.autograd.grad(loss, [tokens, *layer.parameters()])
        return dict(zip(("out", "x", *(name for name, _ in layer.named_parameters())), (out, *grads), strict=True))

    for unread in (None, mask):
        expected, actual = results(0, unread), results(filler, unread)
        assert not actual["x"][mask].any()
        for name, value in expected.items():
            assert torch.equal(actual[name], value), name


@both_memories
@pytest.mark.parametrize("norm_first", [False, True])
def test_bits_do_not_depend_on_threads(memory, norm_first):
    layer = make_layer(memory, norm_first=norm_first)
    x, mask = torch.randn(3, 700, 24), torch.rand(3, 700) < 0.2
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(values_and_gradients(layer, x, mask, mask))
    finally:
        torch.set_num_threads(before)
    for name, value in results[0].items():
        assert all(torch.equal(other[name], value) for other in results[1:]), name


@both_memories
def test_a_token_never_changes_an_output_before_it(memory):
    layer, x = make_layer(memory, norm_first=True), torch.randn(2, 300, 24)
    other = x.clone()
    other[:, 151:] += 1
    out, after = layer(x)[0], layer(other)[0]
    assert torch.equal(out[:, :151], after[:, :151])
    assert not torch.isclose(out[:, 151:], after[:, 151:]).all(-1).any()


@both_memories
def test_steps_are_the_full_pass(memory):
    layer = make_layer(memory, norm_first=True, kernel=3).eval()
    x, state, parts = torch.randn(2, 50, 24), layer.initial_state(2), []
    for piece in x.split([1, 20, 29], 1):
        out, state = layer.step(piece, state)
        parts.append(out)
    torch.testing.assert_close(torch.cat(parts, 1), layer(x)[0].detach())


@both_memories
def test_bfloat16_is_float32_rounded_once(memory):
    if torch.bfloat16 not in FUSED_DTYPES:
        pytest.skip("this CPU multiplies bfloat16 numbers itself")
    for norm_first, recompute in itertools.product((False, True), repeat=2):
        narrow = make_layer(memory, norm_first=norm_first, recompute=recompute).bfloat16()
        wide = copy.deepcopy(narrow).float()
        x = torch.randn(3, 90, 24).bfloat16()
        mask = primal.padding_mask(torch.tensor([90, 31, 2]), 90)
        actual, expected = (values_and_gradients(layer, t, mask) for layer, t in ((narrow, x), (wide, x.float())))
        assert torch.equal(actual["out"], expected["out"].bfloat16())
        for name, value in expected.items():  # Lambda is rounded too, and what is kept for the backward pass
            error = (actual[name].float() - value).abs().max() / value.abs().max().clamp_min(1e-3)
            assert error < 0.03, (name, error)


def test_autocast_takes_the_parts():
    layer, x = make_layer("decay"), torch.randn(2, 17, 24)
    with torch.autocast("cpu", torch.bfloat16):
        assert not layer._can_fuse(x)
        narrow = layer(x)[0]
    torch.testing.assert_close(narrow.float(), layer(x)[0], rtol=0.1, atol=0.1)


def test_time_scales_of_channels_take_the_parts():
    layer, x = make_layer("decay"), torch.randn(2, 17, 24)
    layer.attention.log_scale = nn.Parameter(torch.linspace(0, 3, 24))
    assert not layer._can_fuse(x)
    assert layer(x)[0].shape == x.shape


@both_memories
def test_compiled_layer_is_one_operator(memory):
    layer, x = make_layer(memory, norm_first=True, dropout=0.2), torch.randn(2, 17, 24)
    targets, _ = nodes_of_compiled(layer, x)
    assert [name for name in targets if "primal." in name] == ["primal.encoder_layer"]
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (17, 9):
        x, mask = torch.randn(2, length, 24), primal.padding_mask([length, 3], length)
        results = []
        for run in (compiled, layer):
            torch.manual_seed(5)
            out, terms = run(x, mask)
            results.append(torch.autograd.grad(out.square().sum() + terms.le.sum(), list(layer.parameters())))
        torch.testing.assert_close(*results)


@both_memories
def test_exported_layer_takes_any_length(memory):
    layer = make_layer(memory, norm_first=True).eval()
    length = torch.export.Dim("length", min=2, max=4096)
    shapes = {"x": {1: length}, "key_padding_mask": {1: length}}
    program = exported(layer, (torch.randn(2, 9, 24), torch.zeros(2, 9, dtype=torch.bool)), shapes)
    x, mask = torch.randn(2, 31, 24), torch.rand(2, 31) < 0.3
    torch.testing.assert_close(program(x, mask)[0], layer(x, mask)[0])


@pytest.mark.parametrize("changes", [{}, {"norm_first": True}, {"recompute": True}], ids=str)
@pytest.mark.parametrize("log_scale", [None, torch.tensor([0.5, 1.0, 2.0])], ids=["mean", "decay"])
@pytest.mark.parametrize("mixed", [False, True])
def test_operators(changes, log_scale, mixed):
    arguments, switches = operator_arguments(**changes, data_dependent=False, causal=True)
    x, parameters, _ = arguments
    parameters[4:6] = [torch.randn(3, 8, 5) for _ in range(2)]
    if mixed:
        switches["attended"] = torch.randn_like(x)
    if log_scale is not None:
        switches["log_scale"] = log_scale
    mask = torch.rand(2, 9) < 0.4
    opcheck(torch.ops.primal.encoder_layer.default, (x, parameters, mask, mask.flip(1)), switches)
    for padding in (None, mask):
        arguments = (x, parameters, padding)
        opcheck(torch.ops.primal.encoder_layer.default, arguments, switches)
        opcheck(torch.ops.primal.encoder_layer_keeping.default, arguments, switches)
        *outputs, kept = torch.ops.primal.encoder_layer_keeping(*arguments, **switches)
        grads = [torch.randn_like(output) for output in outputs]
        opcheck(torch.ops.primal.encoder_layer_backward.default, (*grads, kept, *arguments), switches)
    for tensor in (x, switches.get("attended"), log_scale, *parameters):
        if tensor is not None and tensor.numel() > 0:
            tensor.requires_grad_()
    try:
        opcheck(torch.ops.primal.encoder_layer.default, (x, parameters, mask), switches)
    finally:
        if log_scale is not None:
            log_scale.requires_grad_(False)


def test_operator_errors():
    (x, parameters, _), switches = operator_arguments()
    with pytest.raises(ValueError, match="causal attention needs data-independent weights"):
        torch.ops.primal.encoder_layer(x, parameters, None, causal=True, **switches)
    switches["data_dependent"] = False
    parameters[4:6] = [torch.randn(3, 8, 5) for _ in range(2)]
    with pytest.raises(ValueError, match="only causal attention has a memory that fades"):
        torch.ops.primal.encoder_layer(x, parameters, None, log_scale=torch.zeros(3), **switches)
    with pytest.raises(ValueError, match=r"the 3 heads cannot share the time scales of log_scale evenly, got \[4\]"):
        torch.ops.primal.encoder_layer(x, parameters, None, causal=True, log_scale=torch.zeros(4), **switches)
    with pytest.raises(TypeError, match="log_scale must be float32 or bfloat16, got Double"):
        torch.ops.primal.encoder_layer(x, parameters, None, causal=True, log_scale=torch.zeros(3).double(), **switches)

"""EncoderLayer with a memory and a kernel: the operator against the parts, steps, padding, graphs and hooks."""

import copy
import io
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
from torch import nn
from torch.library import opcheck

import primal
from primal.encoder_layer import FUSED_DTYPES

MIXINGS = [{"memory": "decay"}, {"kernel": 3}, {"memory": "decay", "kernel": 3}]
every_mixing = pytest.mark.parametrize("mixing", MIXINGS, ids=str)
pre_and_post = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def make_layer(**options):
    layer = make_plain_layer(**({"memory_scales": 3, "memory_tokens": 40} | options))
    with torch.no_grad():
        for parameter in layer.mixing.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return layer


def test_without_mixing_the_layer_is_the_published_one():
    layer, mixed = make_plain_layer(), make_plain_layer(memory="decay", kernel=3)
    assert layer.mixing is None
    assert "mixing" not in repr(layer)
    state = layer.state_dict()
    assert not [name for name in state if "mixing" in name]
    added = mixed.state_dict().keys() - state.keys()
    assert added == {f"mixing.{name}" for name in ("log_scale", "gain", "skip", "taps")}
    for name, value in state.items():  # drawn as before
        assert torch.equal(mixed.state_dict()[name], value), name
    causal = make_plain_layer(causal=True)
    assert type(causal.initial_state(2)) is primal.State
    assert type(causal.step(torch.randn(2, 1, 24), causal.initial_state(2))[1]) is primal.State


@pre_and_post
def test_a_fresh_convolution_changes_nothing(norm_first):
    layer, mixed = (make_plain_layer(norm_first=norm_first, kernel=kernel) for kernel in (0, 3))
    x = torch.randn(2, 30, 24)
    torch.testing.assert_close(mixed(x), layer(x))


@every_mixing
@pre_and_post
@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
def test_same_as_its_parts(mixing, norm_first, recompute, padding):
    layer = make_layer(norm_first=norm_first, recompute=recompute, padding=padding or "respect", **mixing)
    x = torch.randn(3, 400, 24)
    mask = None if padding is None else primal.padding_mask(torch.tensor([100, 400, 7]), 400)
    for unread in (None, torch.rand(3, 400) < 0.4, mask):
        assert_same_as_parts(layer, x, mask, unread)
    if mask is not None:
        assert_same_as_parts(layer, x, mask.flip(1))


@pytest.mark.parametrize(
    "options", [{"trace": "data_dependent"}, {"data_dependent": False}, {"bias": False}, {"memory_scales": 1}], ids=str
)
def test_options(options):
    assert_same_as_parts(make_layer(memory="decay", norm_first=True, **options), torch.randn(2, 31, 24))


@pre_and_post
def test_gradients_know_which_numbers_were_dropped(norm_first):
    layer = make_layer(norm_first=norm_first, dropout=0.4, memory="decay", kernel=3).train()
    assert_gradient_is_that_of_the_values(layer)


@every_mixing
@pre_and_post
@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        (torch.float32, {"recompute": False}),
        (torch.float32, {"recompute": True}),
        (torch.bfloat16, {}),
        (torch.float64, {}),
        (torch.float32, {"causal": True}),
        (torch.float32, {"implementation": "plain"}),
    ],
    ids=str,
)
def test_whatever_stands_in_padded_tokens_has_no_effect(mixing, norm_first, dtype, options):
    layer = make_layer(norm_first=norm_first, dropout=0.2, **mixing, **options).to(dtype)
    x, mask = torch.randn(3, 60, 24, dtype=dtype), torch.rand(3, 60) < 0.4
    mask[1, 10:], mask[2] = True, True

    def results(filler, unread):
        torch.manual_seed(5)
        tokens = x.masked_fill(mask[..., None], filler).requires_grad_()
        out, terms = layer(tokens, mask, unread)
        loss = out.double().square().sum() + sum(term.double().sum() for term in terms)
        grads = torch.autograd.grad(loss, [tokens, *layer.parameters()])
        return dict(zip(("out", "x", *(name for name, _ in layer.named_parameters())), (out, *grads), strict=True))

    for unread in (None, mask):
        expected, actual = results(0, unread), results(torch.nan, unread)
        assert not actual["x"][mask].any()
        for name, value in expected.items():
            assert torch.equal(actual[name], value), name


def test_a_sequence_does_not_feel_its_padding():
    for causal, implementation in itertools.product((False, True), ("auto", "plain")):
        layer = make_layer(memory="decay", kernel=3, causal=causal, implementation=implementation)
        x = torch.randn(1, 20, 24)
        padded = torch.cat([torch.randn(1, 8, 24), x, torch.randn(1, 13, 24)], 1)
        mask = torch.ones(1, 41, dtype=torch.bool)
        mask[:, 8:28] = False
        torch.testing.assert_close(layer(padded, mask)[0][:, 8:28], layer(x)[0])


def test_bits_do_not_depend_on_threads(set_threads):
    layer = make_layer(norm_first=True, memory="decay", kernel=3)
    x, mask = torch.randn(3, 700, 24), torch.rand(3, 700) < 0.2
    set_threads(1)
    expected = values_and_gradients(layer, x, mask, mask)
    set_threads(3)
    actual = values_and_gradients(layer, x, mask, mask)
    for name, value in expected.items():
        assert torch.equal(actual[name], value), name


def test_bfloat16_is_close_to_float32():
    for norm_first in (False, True):
        narrow = make_layer(norm_first=norm_first, memory="decay", kernel=3).bfloat16()
        wide, x = copy.deepcopy(narrow).float(), torch.randn(3, 90, 24).bfloat16()
        if torch.bfloat16 in FUSED_DTYPES:
            actual, expected = (values_and_gradients(layer, t, None) for layer, t in ((narrow, x), (wide, x.float())))
            for name, value in expected.items():
                error = (actual[name].float() - value).abs().max() / value.abs().max().clamp_min(1e-3)
                assert error < 0.05, (name, error)
        with torch.autocast("cpu", torch.bfloat16):
            out = wide(x.float())[0]
        torch.testing.assert_close(out.float(), wide(x.float())[0], rtol=0.05, atol=0.1)


@pytest.mark.parametrize("implementation", ["auto", "plain"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("mixing", [{"memory": "decay"}, {"kernel": 4}, {"memory": "decay", "kernel": 2}], ids=str)
def test_steps_are_the_full_pass_cut_anywhere(mixing, padded, implementation):
    for norm_first in (False, True):
        layer = make_layer(causal=True, norm_first=norm_first, dropout=0.4, implementation=implementation, **mixing)
        x, mask = torch.randn(2, 9, 24), torch.rand(2, 9) < 0.3 if padded else None
        full = layer.eval()(x, mask)[0].detach()
        layer.train()  # which draws no dropout in steps
        for cut in range(10):
            state, parts = layer.initial_state(2), []
            assert isinstance(state, primal.LayerState)
            for part in (slice(0, cut), slice(cut, 9)):
                out, state = layer.step(x[:, part], state, key_padding_mask=None if mask is None else mask[:, part])
                parts.append(out)
            torch.testing.assert_close(torch.cat(parts, 1), full)
        _, again = layer.step(x[:, :1], tuple(state))  # as a file may give it
        assert isinstance(again, primal.LayerState)


def test_compiled_layer_keeps_its_operators():
    layer, x = make_layer(memory="decay", kernel=3, norm_first=True), torch.randn(2, 17, 24)
    targets, _ = nodes_of_compiled(layer, x)
    assert {"primal.encoder_layer", "primal.moving_average"} <= set(targets)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (17, 9):
        x, mask = torch.randn(2, length, 24), primal.padding_mask([length, 3], length)
        results = []
        for run in (compiled, layer):
            out, terms = run(x, mask)
            results.append(torch.autograd.grad(out.square().sum() + terms.le.sum(), list(layer.parameters())[3:]))
        torch.testing.assert_close(*results)


def exported(module, arguments, shapes):
    file = io.BytesIO()
    torch.export.save(torch.export.export(module, arguments, dynamic_shapes=shapes), file)
    file.seek(0)
    return torch.export.load(file).module()


def test_exported_layer_takes_any_length():
    layer = make_layer(memory="decay", kernel=3).eval()
    length = torch.export.Dim("length", min=2, max=4096)
    shapes = {"x": {1: length}, "key_padding_mask": {1: length}}
    program = exported(layer, (torch.randn(2, 9, 24), torch.zeros(2, 9, dtype=torch.bool)), shapes)
    x, mask = torch.randn(2, 31, 24), torch.rand(2, 31) < 0.3
    torch.testing.assert_close(program(x, mask)[0], layer(x, mask)[0])


class Steps(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, tokens, state):
        return self.layer.step(tokens, state)


def test_exported_step():
    layer = make_layer(memory="decay", kernel=3, causal=True).eval()
    token, state = torch.randn(2, 1, 24), layer.initial_state(2)
    program = exported(Steps(layer), (token, state), None)
    for _ in range(3):
        token = torch.randn(2, 1, 24)
        (ours, after), (theirs, state) = program(token, state), layer.step(token, state)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(after, state)
    assert isinstance(after, primal.LayerState)


def test_second_derivatives_of_the_plain_layer():
    layer = make_layer(memory="decay", kernel=3, implementation="plain", norm_first=True).double()
    x = torch.randn(1, 4, 24, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), layer.mixing.log_scale)
    assert second.isfinite().all()
    assert second.any()


def test_gradients_of_the_parts():
    layer = make_layer(memory="decay", kernel=3, memory_scales=1).double()
    x = torch.randn(1, 3, 24, dtype=torch.float64, requires_grad=True)
    names = [f"mixing.{name}" for name, _ in layer.mixing.named_parameters()]

    def function(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))[0]

    torch.autograd.gradcheck(function, (x, *layer.mixing.parameters()), fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pre_and_post
def test_hooks_and_wrappers_of_the_mixing_are_obeyed(dtype, norm_first):
    layer, x = make_layer(memory="decay", norm_first=norm_first).to(dtype), torch.randn(2, 9, 24, dtype=dtype)
    before = layer(x)[0]
    seen = []
    handle = layer.mixing.register_forward_hook(lambda module, args, out: seen.append(args[0]) or 2 * out)
    assert layer._can_fuse(x) == (dtype == torch.float32)
    doubled = layer(x)[0]
    assert not torch.allclose(doubled, before)
    torch.testing.assert_close(seen[0], layer.norm1(x) if norm_first else x)
    handle.remove()
    assert torch.equal(layer(x)[0], before)
    with torch.no_grad():
        for parameter in (layer.mixing.gain, layer.mixing.skip):
            parameter *= 2
    torch.testing.assert_close(layer(x)[0], doubled)


def test_a_step_that_could_not_obey_a_touched_mixing_is_refused():
    layer, x = make_layer(memory="decay", causal=True), torch.randn(2, 3, 24)
    state = layer.initial_state(2)
    handle = layer.mixing.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match=r"^EncoderLayer: step cannot obey hooks .* of the mixing, a TokenMixing;"):
        layer.step(x, state)
    handle.remove()
    layer.step(x, state)


def test_reset_state_dict_and_copies():
    layer, x = make_layer(memory="decay", kernel=3), torch.randn(2, 9, 24)
    before, twin, other = layer(x)[0], copy.deepcopy(layer), make_plain_layer(memory="decay", memory_scales=3, kernel=3)
    other.load_state_dict(layer.state_dict())
    layer.reset_parameters()
    assert layer.mixing.skip.unique().tolist() == [1]
    for same in (twin, other):
        assert torch.equal(same(x)[0], before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "mean"}, "EncoderLayer: memory must be one of none, decay, got 'mean'"),
        ({"memory_scales": 0}, "EncoderLayer: memory_scales must be at least 1, got 0"),
        ({"memory_tokens": -3}, "EncoderLayer: memory_tokens must be at least 1, got -3"),
        ({"kernel": -1}, "EncoderLayer: kernel must be at least 0, got -1"),
        ({"kernel": 2}, "TokenMixing: a kernel that looks both ways must be odd"),
    ],
    ids=str,
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make_layer(**options)


def test_states_of_other_layers():
    x, mixed, plain = torch.randn(2, 1, 24), make_layer(memory="decay", causal=True), make_plain_layer(causal=True)
    with pytest.raises(TypeError, match=r"^EncoderLayer: state must be a LayerState of this layer, got State$"):
        mixed.step(x, plain.initial_state(2))
    with pytest.raises(TypeError, match=r"^EncoderLayer: a LayerState is of a layer with a memory or a kernel"):
        plain.step(x, mixed.initial_state(2))


def test_operators():
    for changes in ({}, {"norm_first": True}, {"recompute": True}):
        arguments, switches = operator_arguments(attended=torch.randn(2, 9, 24), **changes)
        opcheck(torch.ops.primal.encoder_layer.default, arguments, switches)
        switches["attended"].requires_grad_()
        opcheck(torch.ops.primal.encoder_layer.default, arguments, switches)
        switches["attended"] = switches["attended"].detach()
        opcheck(torch.ops.primal.encoder_layer_keeping.default, arguments, switches)
        *outputs, kept = torch.ops.primal.encoder_layer_keeping(*arguments, **switches)
        grads = [torch.randn_like(output) for output in outputs]
        opcheck(torch.ops.primal.encoder_layer_backward.default, (*grads, kept, *arguments), switches)


@pre_and_post
def test_attended_input_is_what_the_operator_would_make_itself(norm_first):
    (x, parameters, _), switches = operator_arguments(norm_first=norm_first)
    attended = nn.functional.layer_norm(x, [24], parameters[11], parameters[12], 1e-5) if norm_first else x
    expected = torch.ops.primal.encoder_layer(x, parameters, **switches)
    actual = torch.ops.primal.encoder_layer(x, parameters, **switches, attended=attended)
    torch.testing.assert_close(actual, expected)


def test_operator_errors():
    (x, parameters, _), switches = operator_arguments()
    with pytest.raises(ValueError, match=r"encoder_layer: attended must be \[2, 9, 24\], got \[2, 8, 24\]"):
        torch.ops.primal.encoder_layer(x, parameters, **switches, attended=x[:, 1:])
    with pytest.raises(TypeError, match="encoder_layer: attended is Double but x is Float"):
        torch.ops.primal.encoder_layer(x, parameters, **switches, attended=x.double())

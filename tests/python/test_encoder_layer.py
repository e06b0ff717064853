"""The fused encoder layer against the same layer composed of its parts."""

import copy
import itertools

import pytest
import torch
from torch.library import opcheck

import primal
from primal.encoder_layer import FUSED_DTYPES

TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}


def make_layer(**options):
    torch.manual_seed(1)
    options = {"rank": 5, "rows": 7, "feed_forward": 37, "lambda_form": "squared"} | options
    layer = primal.EncoderLayer(options.pop("width", 24), options.pop("heads", 3), **options)
    with torch.no_grad():  # norms that do nothing would hide mistakes
        for norm in (layer.norm1, layer.norm2):
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.uniform_(-0.5, 0.5)
    return layer


def values_and_gradients(layer, x, padding, unread=None):
    """In float32 by the operator, or in float64 by the parts."""
    layer = copy.deepcopy(layer).to(x.dtype)
    x = x.clone().requires_grad_()
    assert layer._can_fuse(x) == (x.dtype in FUSED_DTYPES)
    out, terms = layer(x, padding, unread)
    weights = torch.linspace(-1, 1, out.numel(), dtype=x.dtype).view_as(out)
    if padding is not None:
        weights = weights.masked_fill(padding.unsqueeze(-1), 0)
    loss = (out * weights).sum() + sum((i + 1) * term.square().sum() for i, term in enumerate(terms))
    loss.backward()
    # A parameter that the layer does not have is not in the list; one without gradient is a mistake.
    gradients = {name: parameter.grad.clone() for name, parameter in layer.named_parameters()}
    return {"out": out.detach(), **terms._asdict(), "x": x.grad} | gradients


def assert_same_as_parts(layer, x, padding=None, unread=None):
    actual, expected = (values_and_gradients(layer, value, padding, unread) for value in (x, x.double()))
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        scale = max(1.0, value.abs().max().item())
        torch.testing.assert_close(
            actual[name].double() / scale, value / scale, **TOLERANCE, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
def test_same_as_its_parts(norm_first, recompute, padding):
    for activation, (batch, tokens), bias in itertools.product(
        ("gelu", "relu"), ((1, 1), (3, 29), (2, 500)), (True, False)
    ):
        layer = make_layer(
            norm_first=norm_first, recompute=recompute, activation=activation, bias=bias, padding=padding or "respect"
        )
        x = torch.randn(batch, tokens, 24)
        mask = None
        if padding is not None:
            mask = torch.rand(batch, tokens) < 0.3
            mask[:, 0] = False
        assert_same_as_parts(layer, x, mask)


@pytest.mark.parametrize(
    "options", [{"trace": "data_dependent"}, {"data_dependent": False}, {"sampling": "legacy"}], ids=str
)
def test_attention_options(options):
    layer = make_layer(norm_first=True, **options)
    x = torch.randn(2, 31, 24)
    assert_same_as_parts(layer, x, None)


def test_width_of_the_published_models():
    layer = make_layer(width=128, heads=4, rank=30, rows=60, feed_forward=256)
    x = torch.randn(3, 700, 128)
    assert_same_as_parts(layer, x, None)


def test_a_sample_without_tokens():
    layer = make_layer(norm_first=True)
    mask = torch.zeros(3, 11, dtype=torch.bool)
    mask[1] = True
    x = torch.randn(3, 11, 24)
    assert_same_as_parts(layer, x, mask)


@pytest.mark.parametrize("filler", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        (torch.float32, {"recompute": False}),
        (torch.float32, {"recompute": True}),
        (torch.bfloat16, {}),
        (torch.float64, {}),
        (torch.float32, {"causal": True}),
        (torch.float32, {"implementation": "plain"}),
        (torch.float32, {"data_dependent": False, "activation": "relu"}),
    ],
    ids=str,
)
def test_whatever_stands_in_padded_tokens_has_no_effect(dtype, options, norm_first, filler):
    layer = make_layer(norm_first=norm_first, dropout=0.2, **options).to(dtype)
    x, mask = torch.randn(3, 400, 24, dtype=dtype), torch.rand(3, 400) < 0.4
    mask[1, 10:], mask[2] = True, True

    def results(tokens, unread):
        torch.manual_seed(5)
        tokens = tokens.detach().clone().requires_grad_()
        out, terms = layer(tokens, mask, unread)
        loss = out.double().square().sum() + sum(term.double().sum() for term in terms)
        grads = torch.autograd.grad(loss, [tokens, *layer.parameters()])
        return dict(zip(("out", "x", *(name for name, _ in layer.named_parameters())), (out, *grads), strict=True))

    for unread in (None, mask):
        expected = results(x.masked_fill(mask[..., None], 0), unread)
        actual = results(x.masked_fill(mask[..., None], filler), unread)
        assert not actual["x"][mask].any()
        for name, value in expected.items():
            assert torch.equal(actual[name], value), name


def assert_gradient_is_that_of_the_values(layer):
    """With fixed seeds the layer is a plain function: its gradient agrees with a difference quotient."""
    x = torch.randn(2, 17, 24)

    def loss(value):
        torch.manual_seed(7)
        out, terms = layer(value)
        return out.double().square().sum() + sum(term.double().sum() for term in terms)

    given = x.clone().requires_grad_()
    loss(given).backward()
    direction = torch.randn_like(x)
    step = 1e-2
    with torch.no_grad():
        difference = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    assert difference.item() == pytest.approx((given.grad * direction).sum().item(), rel=2e-2)


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_gradient_is_that_of_the_values(norm_first):
    layer = make_layer(norm_first=norm_first, dropout=0.4, activation="gelu").train()
    assert_gradient_is_that_of_the_values(layer)


def test_dropout_drops_only_in_training():
    layer = make_layer(dropout=0.5)
    x = torch.randn(2, 17, 24)
    assert not torch.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert torch.equal(layer(x)[0], layer(x)[0])


def traced(layer, x):
    return torch.jit.trace(layer, (x,), check_trace=False)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("implementation", ["auto", "plain"])
def test_traced_layer_draws_its_dropout_in_every_call(implementation):
    x = torch.randn(2, 17, 24)
    layer = make_layer(dropout=0.5, implementation=implementation)
    in_training = traced(layer, x)
    assert not torch.equal(in_training(x)[0], in_training(x)[0])
    torch.testing.assert_close(traced(layer.eval(), x)(x)[0], layer(x)[0])


@pytest.mark.parametrize("unread", [False, True], ids=["read", "unread"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_bits_do_not_depend_on_threads(threads, unread):
    layer = make_layer(norm_first=True)
    x, mask = torch.randn(3, 700, 24), torch.rand(3, 700) < 0.2
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = values_and_gradients(layer, x, mask, mask if unread else None)
        torch.set_num_threads(threads)
        actual = values_and_gradients(layer, x, mask, mask if unread else None)
    finally:
        torch.set_num_threads(before)
    for name, value in expected.items():
        assert torch.equal(actual[name], value), name


def test_elsewhere_the_parts_are_used():
    layer = make_layer().double()
    x = torch.randn(2, 9, 24, dtype=torch.float64)
    assert not layer._can_fuse(x)
    assert layer(x)[0].dtype == torch.float64
    causal = primal.EncoderLayer(24, 3, 5, feed_forward=8, causal=True)
    assert causal(torch.randn(2, 9, 24))[0].shape == (2, 9, 24)


def test_bfloat16_is_float32_rounded_once():
    if torch.bfloat16 not in FUSED_DTYPES:
        pytest.skip("this CPU multiplies bfloat16 numbers itself")
    for norm_first, recompute in itertools.product((False, True), repeat=2):
        narrow = make_layer(norm_first=norm_first, recompute=recompute).bfloat16()
        wide = copy.deepcopy(narrow).float()
        x = torch.randn(3, 90, 24).bfloat16()
        mask = primal.padding_mask(torch.tensor([90, 31, 2]), 90)
        actual, expected = (values_and_gradients(layer, t, mask) for layer, t in ((narrow, x), (wide, x.float())))
        assert torch.equal(actual["out"], expected["out"].bfloat16())
        assert actual["le"].dtype == torch.float32
        for name, value in expected.items():  # Lambda is rounded too, and what is kept for the backward pass
            error = (actual[name].float() - value).abs().max() / value.abs().max().clamp_min(1e-3)
            assert error < 0.03, (name, error)


def test_compiles():
    layer = make_layer(norm_first=True)
    x = torch.randn(2, 9, 24)
    torch.testing.assert_close(torch.compile(layer, fullgraph=True)(x)[0], layer(x)[0])


def nodes_of_compiled(layer, x):
    """The operators in its graph, and the compiled layer."""
    targets = []

    def keep(graph, _):
        targets.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend=keep)
    compiled(x)
    return targets, compiled


def test_compiled_layer_with_dropout_keeps_its_operator():
    layer, x = make_layer(dropout=0.5), torch.randn(2, 17, 24)
    targets, compiled = nodes_of_compiled(layer, x)
    assert "primal.encoder_layer" in targets
    torch.manual_seed(3)
    ours, again = compiled(x)[0], compiled(x)[0]
    torch.manual_seed(3)
    assert torch.equal(ours, layer(x)[0])
    assert not torch.equal(ours, again)


def test_compiled_dropout_has_the_gradient_of_what_it_drew():
    layer, x = make_layer(dropout=0.5, norm_first=True), torch.randn(2, 17, 24)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    gradients = []
    for run in (compiled, layer):
        torch.manual_seed(5)
        loss = run(x)[0].square().sum()
        gradients.append(torch.autograd.grad(loss, list(layer.parameters()), allow_unused=True, materialize_grads=True))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"feed_forward": 0}, "feed_forward"), ({"dropout": 1.0}, "dropout"), ({"activation": "tanh"}, "activation")],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_layer(**options)


def test_padding_and_lengths_are_the_same():
    layer = make_layer()
    x = torch.randn(2, 9, 24)
    lengths = torch.tensor([4, 9])
    by_mask = layer(x, primal.padding_mask(lengths, 9))[0]
    assert torch.equal(layer(x, lengths=lengths)[0], by_mask)
    with pytest.raises(ValueError, match="EncoderLayer: key_padding_mask and lengths say the same"):
        layer(x, primal.padding_mask(lengths, 9), lengths=lengths)


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
def test_unread_tokens(norm_first, recompute, padding):
    layer = make_layer(norm_first=norm_first, recompute=recompute, padding=padding or "respect")
    x = torch.randn(3, 400, 24)
    ends = primal.padding_mask(torch.tensor([400, 5, 0]), 400)
    scattered = torch.rand(3, 400) < 0.4
    mask = None if padding is None else primal.padding_mask(torch.tensor([100, 300, 7]), 400)
    for unread in (ends, scattered, torch.zeros_like(ends), torch.ones_like(ends), mask):
        assert_same_as_parts(layer, x, mask, unread)


def test_unread_tokens_are_zero_and_the_others_as_before():
    layer = make_layer(dropout=0.2)
    x, unread = torch.randn(2, 100, 24), torch.rand(2, 100) < 0.5
    torch.manual_seed(5)
    everything, terms = layer(x)
    torch.manual_seed(5)
    some, same_terms = layer(x, unread=unread)
    assert not some[unread].any()
    assert torch.equal(some[~unread], everything[~unread])
    assert torch.equal(terms.le, same_terms.le)


def operator_arguments(**changes):
    layer = make_layer()
    *weights, _ = layer.attention._parameters_now()  # log_scale: of causal layers
    parameters = [torch.empty(0) if p is None else p.detach() for p in weights]
    for module in (layer.norm1, layer.norm2, layer.linear1, layer.linear2):
        parameters += [module.weight.detach(), module.bias.detach()]
    return (torch.randn(2, 9, 24), parameters, None), {"seeds": torch.tensor([1, 2, 3]), "dropout": 0.1} | changes


def test_operators():
    for changes in ({}, {"norm_first": True}, {"recompute": True}):
        arguments, switches = operator_arguments(**changes)
        opcheck(torch.ops.primal.encoder_layer.default, arguments, switches)
        unread = torch.rand(2, 9) < 0.5
        opcheck(torch.ops.primal.encoder_layer.default, (*arguments, unread), switches)
        opcheck(torch.ops.primal.encoder_layer_keeping.default, arguments, switches)
        *outputs, kept = torch.ops.primal.encoder_layer_keeping(*arguments, **switches)
        grads = [torch.randn_like(output) for output in outputs]
        opcheck(torch.ops.primal.encoder_layer_backward.default, (*grads, kept, *arguments), switches)


def test_operator_errors():
    (x, parameters, _), switches = operator_arguments()
    with pytest.raises(ValueError, match="19 parameters are needed, got 18"):
        torch.ops.primal.encoder_layer(x, parameters[:-1], None, **switches)
    with pytest.raises(ValueError, match=r"linear2_bias must be \[24\], got \[37\]"):
        torch.ops.primal.encoder_layer(x, [*parameters[:-1], parameters[16]], None, **switches)
    with pytest.raises(ValueError, match=r"unread must be \[2, 9\], got \[2, 8\]"):
        torch.ops.primal.encoder_layer(x, parameters, None, torch.zeros(2, 8, dtype=torch.bool), **switches)
    with pytest.raises(TypeError, match="unread must be bool"):
        torch.ops.primal.encoder_layer(x, parameters, None, torch.zeros(2, 9), **switches)
    with pytest.raises(ValueError, match=r"seeds must be int64 \[3\], got Long \[1\]"):
        torch.ops.primal.encoder_layer(x, parameters, None, **(switches | {"seeds": torch.tensor([1])}))
    with pytest.raises(ValueError, match="dropout needs seeds"):
        torch.ops.primal.encoder_layer(x, parameters, None, **(switches | {"seeds": None}))


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("padded", [False, True])
def test_steps_of_a_causal_layer_are_its_full_pass(norm_first, padded):
    layer = make_layer(causal=True, norm_first=norm_first, dropout=0.4)  # which decoding has not, whatever the mode
    x, mask = torch.randn(2, 9, 24), torch.rand(2, 9) < 0.3 if padded else None
    state, parts = layer.initial_state(2), []
    for first, last in ((0, 1), (1, 5), (5, 9)):
        part = slice(first, last)
        out, state = layer.step(x[:, part], state, key_padding_mask=None if mask is None else mask[:, part])
        parts.append(out)
    torch.testing.assert_close(torch.cat(parts, 1), layer.eval()(x, mask)[0].detach())
    assert state.count.tolist() == ([9, 9] if mask is None else (~mask).sum(1).tolist())


def test_only_a_causal_layer_steps():
    layer = make_layer()
    with pytest.raises(ValueError, match="only a causal layer has a state"):
        layer.step(torch.randn(2, 1, 24), layer.initial_state(2))

"""implementation="plain" is the same layer, and PyTorch can do with it whatever it can do with its own functions."""

import copy

import pytest
import torch
from attention_cases import CAUSAL, FEATURE_MAPS, MODES, assert_near, make_layer, random_tokens, run
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import primal

every_mode = pytest.mark.parametrize("mode", MODES)
LENGTHS = torch.tensor([5, 2])


def both(**options):
    """A layer on the operators and its twin in plain PyTorch."""
    layer = make_layer(**options)
    plain = make_layer(**options, implementation="plain")
    plain.load_state_dict(layer.state_dict())
    return layer, plain


def encoders(dtype=torch.float64, **options):
    layers = [
        primal.EncoderLayer(12, 3, 4, 5, feed_forward=7, dtype=dtype, implementation=implementation, **options)
        for implementation in ("auto", "plain")
    ]
    layers[1].load_state_dict(layers[0].state_dict())
    return layers


@every_mode
@pytest.mark.parametrize("feature_map", [*FEATURE_MAPS, "polynomial(3)"])
@pytest.mark.parametrize("padding", ["respect", "ignore"])
def test_the_same_results_and_gradients(mode, feature_map, padding):
    layer, plain = both(feature_map=feature_map, padding=padding, **MODES[mode])
    x = random_tokens(2, 5)
    assert_near(run(plain, x, lengths=LENGTHS), run(layer, x, lengths=LENGTHS), 1e-10)
    assert_near(plain.scores(x, lengths=LENGTHS), layer.scores(x, lengths=LENGTHS), 1e-10)


@pytest.mark.parametrize("sampling", ["exact", "linspace", "legacy"])
def test_the_same_cross_attention(sampling):
    layer, plain = both(sampling=sampling, rows=9)
    x, key, key_lengths = random_tokens(2, 5), random_tokens(2, 8), torch.tensor([3, 8])
    ours, theirs = (run(one, x, key, lengths=LENGTHS, key_lengths=key_lengths) for one in (plain, layer))
    assert_near(ours, theirs, 1e-10)


@pytest.mark.parametrize("feature_map", [*FEATURE_MAPS, torch.tanh], ids=[*FEATURE_MAPS, "tanh"])
@pytest.mark.parametrize("mode", CAUSAL)
def test_plain_steps_equal_the_full_pass(feature_map, mode):
    layer = make_layer(feature_map=feature_map, implementation="plain", **MODES[mode])
    x, mask = random_tokens(2, 6), primal.padding_mask(torch.tensor([6, 4]), 6)
    state, outs = layer.initial_state(2), []
    for begin, end in ((0, 1), (1, 1), (1, 4), (4, 6)):
        out, state = layer.step(x[:, begin:end], state, key_padding_mask=mask[:, begin:end])
        outs.append(out)
    assert_near(torch.cat(outs, 1), layer(x, key_padding_mask=mask)[0], 1e-12)
    assert state.count.tolist() == [6, 4]


@pytest.mark.parametrize("mode", CAUSAL)
def test_plain_steps_leave_the_state_of_the_operator(mode):
    layer, plain = both(**MODES[mode])
    x = random_tokens(2, 6)
    (out, state), (expected, expected_state) = (one.step(x, one.initial_state(2)) for one in (plain, layer))
    assert_near((out, *state), (expected, *expected_state), 1e-12)


@every_mode
def test_bfloat16_and_autocast_keep_the_terms_in_float32(mode):
    layer, plain = both(dtype=torch.float32, **MODES[mode])
    x = random_tokens(2, 9, dtype=torch.float32)
    exact = run(layer, x)
    with torch.autocast("cpu", torch.bfloat16):
        cast = run(plain, x)
    narrow = run(copy.deepcopy(plain).bfloat16(), x.bfloat16())
    for values in (cast, narrow):
        assert values["out"].dtype == torch.bfloat16
        assert {values[name].dtype for name in ("le", "lr", "tr")} == {torch.float32}
        assert_near(values, exact, 8 * 2.0**-8)


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_same_encoder_layer(norm_first):
    layer, plain = encoders(norm_first=norm_first)
    x = random_tokens(2, 5)
    outs = [one(x, lengths=LENGTHS) for one in (plain, layer)]
    assert_near((outs[0][0], *outs[0][1]), (outs[1][0], *outs[1][1]), 1e-10)


def test_a_plain_encoder_layer_is_not_fused():
    for layer, fused in zip(encoders(torch.float32), (True, False), strict=True):
        assert layer._can_fuse(torch.randn(2, 5, 12)) == fused
        assert layer.attention.implementation == ("auto" if fused else "plain")


def plain_layers():
    modes = {mode: make_layer(implementation="plain", **options) for mode, options in MODES.items()}
    maps = {name: make_layer(implementation="plain", feature_map=name) for name in FEATURE_MAPS}
    without_bias = {"no bias": make_layer(implementation="plain", bias=False)}
    return modes | maps | without_bias | {"encoder": encoders()[1], "pre-norm": encoders(norm_first=True)[1]}


every_layer = pytest.mark.parametrize("name", plain_layers())


def loss_of(layer, x, parameters=None, mask=None):
    """A number in which all outputs take part. Padded tokens are NaN."""
    mask = primal.padding_mask(LENGTHS, 5)[: len(x)] if mask is None else mask
    x = x.masked_fill(mask[..., None], float("nan"))
    out, terms = functional_call(layer, dict(layer.named_parameters()) if parameters is None else parameters, (x, mask))
    weight = torch.linspace(-1, 2, out[0].numel(), dtype=out.dtype).view_as(out[0])
    return (out.masked_fill(mask[..., None], 0) * weight).square().sum() + (terms.le * terms.lr + terms.tr).sum()


def case(name):
    layer = plain_layers()[name]
    if isinstance(layer, primal.PrimalAttention):
        attention = layer

        class SameCall(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = attention

            def forward(self, x, mask):
                return self.attention(x, key_padding_mask=mask)

        layer = SameCall()
    return layer, random_tokens(2, 5), random_tokens(2, 5)


def slope(function, x, direction, step=1e-6):
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


@every_layer
def test_first_derivatives_of_every_kind(name):
    layer, x, direction = case(name)

    def loss(tokens):
        return loss_of(layer, tokens)

    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(leaf), leaf)
    assert_near((expected * direction).sum(), slope(loss, x, direction).detach(), 1e-6)
    assert_near(grad(loss)(x), expected, 1e-12)
    assert_near(vjp(loss, x)[1](torch.ones((), dtype=x.dtype))[0], expected, 1e-12)
    assert_near(jacrev(loss)(x), expected, 1e-12)
    assert_near(jacfwd(loss)(x), expected, 1e-12)
    assert_near(jvp(loss, (x,), (direction,))[1], (expected * direction).sum(), 1e-10)
    for grad_mode in (torch.enable_grad, torch.no_grad):
        with grad_mode(), forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(loss(forward_ad.make_dual(x, direction))).tangent
            assert_near(tangent.detach(), (expected * direction).sum(), 1e-10)


@every_layer
def test_second_derivatives(name):
    layer, x, direction = case(name)

    def gradient(tokens):
        return grad(lambda t: loss_of(layer, t))(tokens)

    expected = slope(gradient, x, direction).detach()
    leaf = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(loss_of(layer, leaf), leaf, create_graph=True)
    (second,) = torch.autograd.grad((first * direction).sum(), leaf)
    assert_near(second, expected, 1e-5)
    twice = hessian(lambda t: loss_of(layer, t))(x)
    assert_near(torch.einsum("abcxyz,xyz->abc", twice, direction), expected, 1e-5)


@pytest.mark.parametrize("feature_map", ["cosine", "polynomial(2)"])
@pytest.mark.parametrize("causal", [False, True])
def test_second_derivatives_where_a_vector_is_zero(feature_map, causal):
    """Padded tokens are 0, and so are their q and k without bias."""
    layer = make_layer(implementation="plain", bias=False, feature_map=feature_map, causal=causal)
    x, direction, mask = random_tokens(2, 5), random_tokens(2, 5), primal.padding_mask(torch.tensor([5, 0]), 5)

    def gradient(tokens):
        out, terms = layer(tokens, key_padding_mask=mask)
        return torch.autograd.grad(out.square().sum() + terms.objective().sum(), tokens, create_graph=True)[0]

    x.requires_grad_()
    (second,) = torch.autograd.grad((gradient(x) * direction).sum(), x)
    assert_near(second, slope(gradient, x, direction).detach(), 1e-5)
    weights = [layer.q_proj.weight, layer.we]
    assert all(g.isfinite().all() for g in torch.autograd.grad(gradient(x).square().sum(), weights))


def test_zero_vectors_leave_the_cosine_map_as_it_was():
    u = random_tokens(2, 5).requires_grad_()
    expected = u / u.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    assert torch.equal(primal.reference.cosine(u), expected)
    ours, theirs = (torch.autograd.grad(y.sin().sum(), u)[0] for y in (primal.reference.cosine(u), expected))
    assert torch.equal(ours, theirs)
    zero = torch.zeros(2, 5, requires_grad=True)
    assert torch.equal(primal.reference.cosine(zero), zero)


@every_layer
def test_gradients_of_each_sample_with_lengths(name):
    layer, x = plain_layers()[name], random_tokens(2, 5)
    parameters = {k: v.detach() for k, v in layer.named_parameters()}

    def loss(weights, tokens, length):
        out, terms = functional_call(layer, weights, (tokens[None],), {"lengths": length[None]})
        return out.square().sum() + terms.objective().sum()

    together = vmap(grad(loss), (None, 0, 0))(parameters, x, LENGTHS)
    apart = [grad(loss)(parameters, *sample) for sample in zip(x, LENGTHS, strict=True)]
    for key, value in together.items():
        assert_near(value, torch.stack([one[key] for one in apart]), 1e-10)
    with pytest.raises(ValueError, match="lengths: 6 is above the 5 tokens"):
        grad(loss)(parameters, x[0], torch.tensor(6))


@every_layer
@pytest.mark.parametrize("sampling", ["exact", "legacy"])
def test_gradients_of_each_sample(name, sampling):
    layer, x, _ = case(name)
    for module in layer.modules():
        module.sampling = sampling
    parameters = {k: v.detach() for k, v in layer.named_parameters()}
    masks = primal.padding_mask(LENGTHS, 5)

    def loss(weights, tokens, mask):
        return loss_of(layer, tokens[None], weights, mask[None])

    together = vmap(grad(loss), (None, 0, 0))(parameters, x, masks)
    apart = [grad(loss)(parameters, *sample) for sample in zip(x, masks, strict=True)]
    for key, value in together.items():
        assert_near(value, torch.stack([one[key] for one in apart]), 1e-10)


def test_a_map_that_is_known_to_the_operators_alone_is_refused():
    with pytest.raises(ValueError, match="feature map 'mine' has no version in plain PyTorch"):
        primal.reference.feature_map("mine")


@pytest.mark.parametrize(
    "make", [make_layer, lambda **options: primal.EncoderLayer(12, 3, 4, feed_forward=7, **options)]
)
def test_unknown_implementation_is_refused(make):
    with pytest.raises(ValueError, match="PrimalAttention: implementation must be one of auto, plain, got 'fast'"):
        make(implementation="fast")

"""What the operators cannot differentiate is refused with the way out, never answered with zeros."""

import pytest
import torch
from torch import func
from torch.autograd import forward_ad

import primal

PLAIN = r'use implementation="plain"$'


def make_layers():
    attention = {"rank": 4, "rows": 5}
    return {
        "attention": primal.PrimalAttention(12, 3, **attention),
        "float64": primal.PrimalAttention(12, 3, **attention, dtype=torch.float64),
        "causal": primal.PrimalAttention(12, 3, rank=4, causal=True),
        "causal decay": primal.PrimalAttention(12, 3, rank=4, causal=True, memory="decay"),
        "encoder": primal.EncoderLayer(12, 3, **attention, feed_forward=7),
        "encoder in float64": primal.EncoderLayer(12, 3, **attention, feed_forward=7, dtype=torch.float64),
    }


every_layer = pytest.mark.parametrize("name", make_layers())


def make_case(name):
    layer = make_layers()[name]
    x = torch.randn(2, 5, 12, dtype=next(layer.parameters()).dtype)
    return layer, x, lambda tokens: layer(tokens)[0].square().sum()


def refuses(what):
    return pytest.raises((NotImplementedError, RuntimeError), match=rf"^primal::\w+ has no {what}.*; {PLAIN}")


def tangent(function, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


@every_layer
def test_forward_mode_is_refused(name):
    layer, x, loss = make_case(name)
    for attempt in (
        lambda: func.jvp(loss, (x,), (torch.ones_like(x),)),
        lambda: func.jacfwd(loss)(x),
        lambda: tangent(loss, x),
    ):
        with refuses("forward-mode derivative"):
            attempt()
        with torch.no_grad(), refuses("forward-mode derivative"):
            attempt()
        layer.requires_grad_(False)
        with refuses("forward-mode derivative"):
            attempt()
        layer.requires_grad_(True)


@every_layer
def test_tangents_of_parameters_are_refused(name):
    layer, x, _ = make_case(name)
    parameters = {key: value.detach() for key, value in layer.named_parameters()}
    given = [key for key in parameters if name != "encoder in float64" or key.startswith("attention.")]
    for key in given:

        def loss(value, key=key):
            return func.functional_call(layer, parameters | {key: value}, x)[0].sum()

        with torch.no_grad(), refuses("forward-mode derivative"):
            tangent(loss, parameters[key])


@every_layer
@pytest.mark.parametrize("transform", ["grad", "jacrev", "hessian", "per sample", "vjp"])
def test_transforms_of_torch_func_are_refused(name, transform):
    _, x, loss = make_case(name)
    transforms = {
        "grad": lambda: func.grad(loss)(x),
        "jacrev": lambda: func.jacrev(loss)(x),
        "hessian": lambda: func.hessian(loss)(x),
        "per sample": lambda: func.vmap(func.grad(loss))(x[:, None]),
        "vjp": lambda: func.vjp(loss, x),
    }
    with refuses("(transform of torch.func|vmap|forward-mode derivative)"):
        transforms[transform]()


@every_layer
def test_second_derivatives_are_refused_when_they_are_taken(name):
    layer, x, loss = make_case(name)
    leaf = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(loss(leaf), leaf, create_graph=True)
    (expected,) = torch.autograd.grad(loss(leaf), leaf)
    torch.testing.assert_close(first.detach(), expected)
    with refuses("second derivative"):
        first.square().sum().backward()
    with refuses("second derivative"):  # of a parameter alone
        (first,) = torch.autograd.grad(loss(x), next(layer.parameters()), create_graph=True)
        torch.autograd.grad(first.sum(), next(layer.parameters()))


@pytest.mark.parametrize("name", ["attention", "causal", "causal decay"])
def test_vmap_of_a_layer_has_the_gradients_of_a_loop(name):
    layer, x, _ = make_case(name)
    outs = torch.vmap(lambda tokens: layer(tokens[None])[0])(x), torch.cat([layer(one[None])[0] for one in x])[:, None]
    torch.testing.assert_close(*outs)
    grads = [torch.autograd.grad(out.square().sum(), list(layer.parameters()), allow_unused=True) for out in outs]
    for ours, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_vmap_of_the_fused_encoder_layer_is_refused():
    layer, x, _ = make_case("encoder")
    with refuses("vmap"):
        torch.vmap(lambda tokens: layer(tokens[None])[0])(x)


def test_vmap_over_gradients_is_refused():
    for name in ("attention", "encoder"):
        layer, x, _ = make_case(name)
        out = layer(x.requires_grad_())[0]
        with refuses("vmap"):
            torch.autograd.grad(out, x, torch.ones(3, *out.shape), is_grads_batched=True)


def test_scores_and_steps_refuse_tangents():
    layer, x, _ = make_case("causal")
    for function in (lambda t: layer.scores(t).e, lambda t: layer.step(t, layer.initial_state(2))[0]):
        with refuses("forward-mode derivative"):
            tangent(function, x)
        with refuses("forward-mode derivative"):
            func.jvp(function, (x,), (torch.ones_like(x),))

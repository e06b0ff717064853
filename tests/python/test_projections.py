"""Layers whose output is made of e alone or of r alone."""

import pytest
import torch
from attention_cases import make_layer, random_tokens

import primal

SEEN = {"right": slice(0, 4), "left": slice(4, 8)}

sides = pytest.mark.parametrize("side", ["right", "left"])
both_ways = pytest.mark.parametrize("implementation", ["auto", "plain"])


def whole_of(part, side, **options):
    """A layer of both with the weights of `part`, and none for the scores that it does not see."""
    whole = make_layer(**options)
    state = dict(part.state_dict())
    weight = torch.zeros_like(whole.score_proj.weight)
    weight[:, SEEN[side]] = state["score_proj.weight"]
    whole.load_state_dict(state | {"score_proj.weight": weight})
    return whole


@sides
@both_ways
@pytest.mark.parametrize("causal", [False, True])
def test_one_sided_is_both_without_a_weight_for_the_other_scores(side, implementation, causal):
    part = make_layer(projections=side, causal=causal, implementation=implementation)
    assert part.score_proj.weight.shape == (4, 4)
    whole = whole_of(part, side, causal=causal)
    x = random_tokens(2, 9)
    (out, terms), (expected, expected_terms) = part(x), whole(x)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(terms, expected_terms)
    out.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(part.score_proj.weight.grad, whole.score_proj.weight.grad[:, SEEN[side]])
    torch.testing.assert_close(part.k_proj.weight.grad, whole.k_proj.weight.grad)


@sides
def test_gradients_agree_with_finite_differences(side):
    layer = make_layer(projections=side)
    x = random_tokens(2, 9).requires_grad_()
    weight = layer.score_proj.weight
    assert torch.autograd.gradcheck(lambda tokens, _: layer(tokens)[0], (x, weight), fast_mode=True)


@sides
def test_an_encoder_layer_has_one_too(side):
    layers = [
        primal.EncoderLayer(12, 3, 4, 5, feed_forward=20, projections=side, implementation=way)
        for way in ("auto", "plain")
    ]
    layers[1].load_state_dict(layers[0].state_dict())
    x = torch.randn(2, 9, 12)
    torch.testing.assert_close(layers[0](x)[0], layers[1](x)[0])


@sides
def test_decodes_token_by_token(side):
    layer = make_layer(projections=side, causal=True)
    x = random_tokens(2, 9)
    state, outs = layer.initial_state(x.shape[0]), []
    for token in x.split(1, 1):
        out, state = layer.step(token, state)
        outs.append(out)
    torch.testing.assert_close(torch.cat(outs, 1), layer(x)[0])

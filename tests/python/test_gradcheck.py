"""The backward operator agrees with finite differences, and says that it has no derivative itself."""

import pytest
import torch
from attention_cases import CAUSAL, FEATURE_MAPS, MODES, random_arguments

NON_CAUSAL = [mode for mode in MODES if mode not in CAUSAL]


def requiring_grad(arguments):
    return [a.requires_grad_() if a is not None and a.is_floating_point() else a for a in arguments]


def assert_gradients(mode, feature_map="cosine", *, changes=None, **inputs):
    arguments, switches = random_arguments(mode, feature_map, **inputs)
    switches |= changes or {}
    assert torch.autograd.gradcheck(
        lambda *tensors: torch.ops.primal.attention(*tensors, **switches), requiring_grad(arguments)
    )


@pytest.mark.parametrize("feature_map", [*FEATURE_MAPS, "polynomial(3)"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_every_mode_and_feature_map(mode, feature_map):
    assert_gradients(mode, feature_map)


@pytest.mark.parametrize("respect_padding", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_with_masks(mode, respect_padding):
    assert_gradients(mode, masks=True, changes={"respect_padding": respect_padding})


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("key_tokens", [2, 5])
@pytest.mark.parametrize("mode", NON_CAUSAL)
def test_gradients_of_cross_attention(mode, key_tokens, masks):
    assert_gradients(mode, key_tokens=key_tokens, masks=masks)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_the_trace_on_data_dependent_weights(mode):
    assert_gradients(mode, changes={"trace_on_data": True})


@pytest.mark.parametrize("mode", MODES)
def test_gradients_without_biases(mode):
    assert_gradients(mode, bias=False)


@pytest.mark.parametrize("mode", MODES)
def test_second_derivative_is_refused(mode):
    arguments, switches = random_arguments(mode)
    query = requiring_grad(arguments)[0]
    out, *_ = torch.ops.primal.attention(*arguments, **switches)
    (first,) = torch.autograd.grad(out.square().sum(), query, create_graph=True)
    with pytest.raises(RuntimeError, match="primal::attention_backward has no second derivative"):
        first.sum().backward()


@pytest.mark.parametrize("operator", ["attention_scores", "attention_step"])
def test_scores_and_steps_refuse_a_derivative(operator):
    arguments, switches = random_arguments("causal")
    state = [torch.zeros(2, 6, dtype=torch.float64), torch.zeros(2, 6, dtype=torch.float64), torch.zeros(2).long()]
    if operator == "attention_step":
        switches |= dict(zip(("q_sum", "k_sum", "count"), state, strict=True))
    first, *_ = getattr(torch.ops.primal, operator)(*requiring_grad(arguments), **switches)
    with pytest.raises(RuntimeError, match=f"primal::{operator} has no derivative"):
        first.sum().backward()

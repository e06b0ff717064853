"""A causal layer never looks ahead, and its small state replaces the whole past."""

import pytest
import torch
from attention_cases import CAUSAL, FEATURE_MAPS, MODES, TOLERANCE, assert_near, make_layer, random_tokens

from primal import padding_mask

both_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
every_memory = pytest.mark.parametrize("mode", CAUSAL)


def decode(layer, x, sizes, state=None):
    """The output of all chunks, one after the other, and the state after them."""
    state = layer.initial_state(len(x)) if state is None else state
    outs = []
    for chunk in x.split(sizes, dim=1):
        out, state = layer.step(chunk, state)
        outs.append(out)
    return torch.cat(outs, dim=1), state


@every_memory
@both_dtypes
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_a_token_never_changes_an_output_before_it(dtype, feature_map, mode):
    layer, x = make_layer(dtype=dtype, feature_map=feature_map, **MODES[mode]), random_tokens(2, 9, dtype=dtype)
    out, _ = layer(x)
    for t in range(9):
        changed = x.clone()
        changed[:, t] += 1
        after, _ = layer(changed)
        assert torch.equal(after[:, :t], out[:, :t])
        assert not torch.allclose(after[:, t], out[:, t])


@every_memory
def test_no_gradient_flows_from_an_output_to_a_later_token(mode):
    layer, x = make_layer(**MODES[mode]), random_tokens(2, 9).requires_grad_()
    out, _ = layer(x)
    (grad,) = torch.autograd.grad(out[:, 4].sum(), x)
    assert torch.all(grad[:, 5:] == 0)
    assert torch.all(grad[:, :5].abs().sum(-1) > 0)


@every_memory
@both_dtypes
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
@pytest.mark.parametrize("sizes", [[1] * 9, [4, 5], [1, 0, 7, 1], [9]], ids=str)
def test_steps_equal_the_full_pass(dtype, feature_map, sizes, mode):
    layer, x = make_layer(dtype=dtype, feature_map=feature_map, **MODES[mode]), random_tokens(2, 9, dtype=dtype)
    out, state = decode(layer, x, sizes)
    assert_near(out, layer(x)[0], TOLERANCE[dtype])
    assert state.count.tolist() == [9, 9]


@every_memory
@both_dtypes
def test_steps_equal_the_full_pass_over_thousands_of_tokens(dtype, mode):
    layer = make_layer(dtype=dtype, **MODES[mode])
    x = random_tokens(1, 2500, dtype=dtype) + torch.linspace(-1, 1, 2500, dtype=dtype)[:, None]
    out, _ = decode(layer, x, 1)
    assert_near(out, layer(x)[0], TOLERANCE[dtype])


@every_memory
@both_dtypes
def test_decoding_after_a_padded_prompt_equals_each_sample_alone(dtype, mode):
    layer = make_layer(dtype=dtype, **MODES[mode])
    prompt, rest = random_tokens(4, 6, dtype=dtype), random_tokens(4, 5, dtype=dtype)
    lengths = torch.tensor([6, 3, 1, 0])
    mask = padding_mask(lengths, 6)
    prompt[mask] = float("nan")
    prompt_out, state = layer.step(prompt, layer.initial_state(4), key_padding_mask=mask)
    assert torch.equal(state.count, lengths)
    assert torch.all(prompt_out[mask] == 0)
    out, state = decode(layer, rest, 1, state)
    assert torch.equal(state.count, lengths + 5)
    for sample, length in enumerate(lengths.tolist()):
        alone, _ = layer(torch.cat([prompt[sample, :length], rest[sample]])[None])
        assert_near(torch.cat([prompt_out[sample, :length], out[sample]]), alone[0], TOLERANCE[dtype])


@every_memory
@both_dtypes
def test_a_padded_step_leaves_the_state_of_its_sample(dtype, mode):
    layer = make_layer(dtype=dtype, **MODES[mode])
    _, before = layer.step(random_tokens(2, 3, dtype=dtype), layer.initial_state(2))
    _, after = layer.step(random_tokens(2, 1, dtype=dtype), before, key_padding_mask=torch.tensor([[True], [False]]))
    for old, new in zip(before, after, strict=True):
        assert torch.equal(new[0], old[0])
        assert not torch.equal(new[1], old[1])


@every_memory
@pytest.mark.parametrize("mask", [None, torch.zeros(2, 0, dtype=torch.bool)], ids=["no mask", "mask"])
def test_a_step_of_no_tokens_keeps_the_state(mask, mode):
    layer = make_layer(**MODES[mode])
    _, before = layer.step(random_tokens(2, 3), layer.initial_state(2))
    out, after = layer.step(random_tokens(2, 0), before, key_padding_mask=mask)
    assert out.shape == (2, 0, 12)
    assert all(torch.equal(*parts) for parts in zip(before, after, strict=True))


@every_memory
def test_a_step_does_not_change_the_state_it_was_given(mode):
    layer = make_layer(**MODES[mode])
    _, state = layer.step(random_tokens(2, 3), layer.initial_state(2))
    kept = [part.clone() for part in state]
    first, _ = layer.step(token := random_tokens(2, 1), state)
    again, _ = layer.step(token, state)
    assert torch.equal(first, again)
    assert all(torch.equal(part, copy) for part, copy in zip(state, kept, strict=True))


@every_memory
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_state_is_as_small_after_a_thousand_tokens_as_before_the_first(dtype, mode):
    layer = make_layer(dtype=dtype, **MODES[mode])
    state = layer.initial_state(2)
    bytes_per_sample = (2 * 12 + 1) * 8  # two float64 sums of width D and an int64 count
    for tokens in (0, 1, 1000):
        _, state = layer.step(random_tokens(2, tokens, dtype=dtype), state)
        assert sum(part.untyped_storage().nbytes() for part in state) == 2 * bytes_per_sample


@every_memory
def test_samples_of_a_state_can_be_reordered(mode):
    """As beam search does."""
    layer, x = make_layer(**MODES[mode]), random_tokens(3, 5)
    _, state = layer.step(x, layer.initial_state(3))
    order, token = torch.tensor([2, 0, 0]), random_tokens(3, 1)
    out, _ = layer.step(token, type(state)(*(part[order] for part in state)))
    assert_near(out, layer(torch.cat([x[order], token], dim=1))[0][:, -1:], 1e-12)


@every_memory
def test_a_constant_sequence_is_its_own_mean(mode):
    layer, x = make_layer(**MODES[mode]), random_tokens(2, 1).expand(2, 7, 12)
    out, _ = layer(x)
    assert_near(out, out[:, :1].expand_as(out).contiguous(), 1e-12)
    assert_near(out[:, :1], make_data_independent(layer)(x[:, :1])[0], 1e-12)


def make_data_independent(layer):
    """The same weights without means."""
    other = make_layer(data_dependent=False)
    other.load_state_dict({name: value for name, value in layer.state_dict().items() if name != "log_scale"})
    return other

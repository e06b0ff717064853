"""memory="decay" of a causal layer: what its time scales mean, and what becomes of them."""

import copy
import io
import math

import pytest
import torch
from attention_cases import FEATURE_MAPS, assert_near, make_layer, random_tokens, run

import primal
from primal import padding_mask, reference

both_ways = pytest.mark.parametrize("implementation", ["auto", "plain"])


def fading(log_scale=None, **options):
    """A layer in float64 with those time scales, or with random ones."""
    layer = make_layer(causal=True, memory="decay", **options)
    with torch.no_grad():
        if log_scale is None:
            log_scale = torch.randn(3, dtype=torch.float64)
        layer.log_scale = torch.nn.Parameter(torch.as_tensor(log_scale).to(layer.log_scale).expand(3).clone())
    return layer


def with_weights_of(layer, **options):
    other = make_layer(**options)
    other.load_state_dict({name: value for name, value in layer.state_dict().items() if name != "log_scale"})
    return other


def scales(log_scale, **options):
    """A layer whose log_scale has another size: the operator takes any that divides the width."""
    layer = fading(**options)
    layer.log_scale = torch.nn.Parameter(log_scale)
    return layer


def fading_means(u, log_scale, counted=None):
    """Token by token, straight from the definition. u: [B, N, D]"""
    decay = torch.exp(-torch.exp(-log_scale)).repeat_interleave(u.shape[-1] // len(log_scale))
    means = torch.zeros_like(u)
    for sample in range(len(u)):
        total, weight = torch.zeros_like(u[0, 0]), torch.zeros_like(u[0, 0])
        for t in range(u.shape[1]):
            if counted is None or counted[sample, t]:
                total, weight = decay * total + u[sample, t], decay * weight + 1
                means[sample, t] = total / weight
    return means


@both_ways
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_endless_time_scales_are_the_published_mean(feature_map, implementation):
    x = random_tokens(2, 70)
    for log_scale, tolerance in ((math.inf, 1e-12), (40.0, 1e-12), (12.0, 1e-2)):
        layer = fading(log_scale, feature_map=feature_map, implementation=implementation)
        ours, theirs = run(layer, x), run(with_weights_of(layer, feature_map=feature_map, causal=True), x)
        assert ours.pop("grad.log_scale").abs().max() <= tolerance
        assert_near(ours, theirs, tolerance)


@both_ways
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_without_a_time_scale_a_token_is_alone(feature_map, implementation):
    x = random_tokens(2, 70)
    layer = fading(-7.0, feature_map=feature_map, implementation=implementation)
    ours, theirs = run(layer, x), run(with_weights_of(layer, feature_map=feature_map, data_dependent=False), x)
    assert torch.all(ours.pop("grad.log_scale") == 0)
    assert_near(ours, theirs, 1e-12)


def test_an_infinitely_short_time_scale_is_no_nan():
    layer, x = fading(-math.inf), random_tokens(2, 9)
    values = run(layer, x, lengths=torch.tensor([9, 4]))
    assert all(value.isfinite().all() for value in values.values())
    assert_near(values["out"][0], with_weights_of(layer, data_dependent=False)(x)[0][0], 1e-12)
    assert_near(reference.fading_mean(x, torch.ones(2, 9).bool(), layer.log_scale.detach()), x, 1e-12)


@pytest.mark.parametrize("groups", [1, 3, 6, 12])
@pytest.mark.parametrize("feature_map", ["identity", "cosine"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_scores_are_those_of_the_definition(groups, feature_map, dtype):
    """Also of time scales that differ within a head, where the length of a vector is not all that the mean changes."""
    layer = scales(torch.randn(groups, dtype=dtype), feature_map=feature_map, dtype=dtype)
    x, mask = random_tokens(3, 11, dtype=dtype), torch.rand(3, 11) < 0.4
    mask[0] = False
    scores, (out, _) = layer.scores(x, key_padding_mask=mask), layer(x, key_padding_mask=mask)
    for projection, weight, actual in ((layer.q_proj, layer.we, scores.e), (layer.k_proj, layer.wr, scores.r)):
        means = fading_means(projection(x).double(), layer.log_scale.double(), ~mask)
        features = reference.feature_map(feature_map)(means.unflatten(-1, (3, 4)).transpose(1, 2))
        expected = torch.einsum("bhnd,hds->bhns", features, weight.double()) * ~mask[:, None, :, None]
        assert_near(actual, expected, 1e-5 if dtype == torch.float32 else 1e-12)
    both = torch.cat([scores.e, scores.r], -1)
    expected = layer.out_proj(layer.score_proj(both).transpose(1, 2).flatten(2)) * ~mask[..., None]
    assert_near(out, expected, 1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("feature_map", ["cosine", "identity"])
def test_gradients_of_time_scales_of_any_number(groups, feature_map):
    layer = make_layer(6, 2, 2, causal=True, memory="decay", feature_map=feature_map)
    layer.log_scale = torch.nn.Parameter(torch.randn(groups, dtype=torch.float64) + 1)
    tensors = layer._operands(random_tokens(2, 5, 6), None, (torch.rand(2, 5) < 0.3, None))
    inputs = [t if t is None or t.dtype == torch.bool else t.detach().requires_grad_() for t in tensors]
    assert torch.autograd.gradcheck(lambda *t: torch.ops.primal.attention(*t, **layer._switches()), inputs)


@pytest.mark.parametrize("groups", [1, 3, 12])
def test_float32_gradients_over_long_sequences(groups):
    """Fused where the channels of a head share a time scale, else in ATen calls."""
    torch.manual_seed(3)
    layer = scales(torch.linspace(0, 6, groups, dtype=torch.float64))
    x, mask = random_tokens(2, 700), torch.rand(2, 700) < 0.2
    expected = run(layer, x, key_padding_mask=mask)
    actual = run(copy.deepcopy(layer).float(), x.float(), key_padding_mask=mask)
    assert_near({name: value.double() for name, value in actual.items()}, expected, 1e-4)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=str)
def test_cut_anywhere_the_state_carries_on(dtype, tolerance):
    layer, x = fading(torch.tensor([0.0, 2.0, 6.0]), dtype=dtype), random_tokens(3, 80, dtype=dtype)
    mask = torch.rand(3, 80) < 0.3
    expected, _ = layer(x, key_padding_mask=mask)
    for cut in range(81):
        first, state = layer.step(x[:, :cut], layer.initial_state(3), key_padding_mask=mask[:, :cut])
        second, _ = layer.step(x[:, cut:], state, key_padding_mask=mask[:, cut:])
        assert_near(torch.cat([first, second], 1), expected, tolerance)


def test_the_state_holds_fading_sums():
    layer, x, mask = fading(), random_tokens(2, 9), padding_mask(torch.tensor([9, 4]), 9)
    _, state = layer.step(x, layer.initial_state(2), key_padding_mask=mask)
    decay = torch.exp(-torch.exp(-layer.log_scale)).repeat_interleave(4)
    for sum_, projection in ((state.q_sum, layer.q_proj), (state.k_sum, layer.k_proj)):
        for sample, length in ((0, 9), (1, 4)):
            powers = decay ** torch.arange(length - 1, -1, -1)[:, None]
            assert_near(sum_[sample], (powers * projection(x[sample, :length])).sum(0), 1e-12)
    assert state.count.tolist() == [9, 4]


def test_a_saved_state_and_layer_go_on_where_they_were():
    layer, x = fading(), random_tokens(2, 12)
    _, state = layer.step(x[:, :7], layer.initial_state(2))
    file = io.BytesIO()
    torch.save({"layer": layer.state_dict(), "state": state}, file)
    file.seek(0)
    loaded = torch.load(file)
    other = make_layer(causal=True, memory="decay")
    other.load_state_dict(loaded["layer"])
    out, _ = other.step(x[:, 7:], loaded["state"])
    assert torch.equal(out, layer.step(x[:, 7:], state)[0])
    assert_near(out, layer(x)[0][:, 7:], 1e-12)


def test_time_scales_begin_log_spaced_from_one_token():
    layer = primal.PrimalAttention(32, 8, 3, causal=True, memory="decay", memory_tokens=128)
    assert_near(layer.log_scale.detach().exp(), torch.tensor([2.0**i for i in range(8)]), 1e-6)
    with torch.no_grad():
        layer.log_scale.zero_()
    layer.reset_parameters()
    assert_near(layer.log_scale.detach()[-1].exp(), torch.tensor(128.0), 1e-6)
    alone = primal.PrimalAttention(32, 1, 3, causal=True, memory="decay", memory_tokens=100)
    assert_near(alone.log_scale.detach().exp(), torch.tensor([10.0]), 1e-6)


def test_a_layer_says_what_it_remembers_with():
    assert "memory" not in repr(make_layer(causal=True))
    assert "log_scale" not in make_layer(causal=True).state_dict()
    assert "causal=True, memory=decay, " in (shown := repr(make_layer(causal=True, memory="decay", memory_tokens=9)))
    assert "memory_tokens=9" in shown


@pytest.mark.parametrize("kind", [primal.MultiheadPrimalAttention, primal.EncoderLayer])
def test_layers_around_it_hand_the_option_on(kind):
    is_encoder = kind is primal.EncoderLayer  # which has a memory of its own
    options = {"feed_forward": 7, "attention_memory": "decay"} if is_encoder else {"memory": "decay"}
    layer = kind(12, 3, 4, causal=True, memory_tokens=50, **options)
    assert_near(layer.attention.log_scale.detach()[-1].exp(), torch.tensor(50.0), 1e-6)


@pytest.mark.parametrize("implementation", ["auto", "plain"])
def test_an_encoder_layer_steps_with_it(implementation):
    layer = primal.EncoderLayer(
        12,
        3,
        4,
        feed_forward=7,
        causal=True,
        attention_memory="decay",
        implementation=implementation,
        dtype=torch.float64,
    ).eval()
    x, state, outs = random_tokens(2, 9), layer.initial_state(2), []
    for token in x.split(1, dim=1):
        out, state = layer.step(token, state)
        outs.append(out)
    assert_near(torch.cat(outs, 1), layer(x)[0], 1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "decay"}, 'memory="decay" needs causal=True'),
        ({"memory": "fade", "causal": True}, "memory must be one of mean, decay, got 'fade'"),
        ({"memory": "decay", "causal": True, "memory_tokens": 0}, "memory_tokens must be at least 1, got 0"),
    ],
    ids=["not causal", "unknown", "no token"],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        make_layer(**options)


@pytest.mark.parametrize(
    ("log_scale", "switches", "kind", "message"),
    [
        (torch.zeros(3).double(), {"causal": False}, ValueError, "log_scale without causal"),
        (torch.zeros(5).double(), {}, ValueError, r"a G that divides the width 12, got \[5\]"),
        (torch.zeros(0).double(), {}, ValueError, r"a G that divides the width 12, got \[0\]"),
        (torch.zeros(1, 3).double(), {}, ValueError, r"log_scale must be \[G\].*got \[1, 3\]"),
        (torch.zeros(3), {}, TypeError, "log_scale is Float but query is Double"),
        (torch.zeros(3, device="meta").double(), {}, ValueError, "log_scale is on meta but query is on cpu"),
    ],
    ids=["not causal", "size", "empty", "dimensions", "dtype", "device"],
)
def test_time_scales_that_do_not_fit(log_scale, switches, kind, message):
    layer = make_layer(causal=True)
    *tensors, _ = layer._operands(random_tokens(2, 5), None, (None, None))
    with pytest.raises(kind, match=message):
        torch.ops.primal.attention(*tensors, log_scale, **layer._switches() | switches)

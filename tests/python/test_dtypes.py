"""float32, float64 and bfloat16 tokens, autocast, and what is refused."""

import copy

import pytest
import torch
from attention_cases import FEATURE_MAPS, MODES, assert_near, make_layer, random_tokens, run

import primal

BFLOAT16_ROUNDING = 2.0**-8
every_mode = pytest.mark.parametrize("mode", MODES)


def term_dtype(dtype):
    return torch.float32 if dtype == torch.bfloat16 else dtype


def bfloat16_and_float32_twins(**options):
    """Two layers with the same numbers, representable in bfloat16."""
    narrow = make_layer(dtype=torch.float32, **options).to(torch.bfloat16)
    return narrow, copy.deepcopy(narrow).float()


@every_mode
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dtypes_of_results(mode, dtype):
    layer, x = make_layer(dtype=dtype, **MODES[mode]), random_tokens(2, 5, dtype=dtype)
    values = run(layer, x)
    assert values["out"].dtype == values["grad.x"].dtype == dtype
    assert {values[name].dtype for name in ("le", "lr", "tr")} == {term_dtype(dtype)}
    assert {part.dtype for part in layer.scores(x)} == {term_dtype(dtype)}
    for name, parameter in layer.named_parameters():
        assert values[f"grad.{name}"].dtype == parameter.dtype


@every_mode
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 8 * BFLOAT16_ROUNDING)])
def test_results_and_gradients_are_those_of_float64(mode, feature_map, dtype, tolerance):
    layer = make_layer(dtype=dtype, feature_map=feature_map, **MODES[mode])
    x = random_tokens(2, 9, dtype=dtype)
    exact = run(copy.deepcopy(layer).double(), x.double())
    assert_near(run(layer, x), exact, tolerance)


def drifting_tokens(tokens):
    """Two halves with different means: a sum that stopped growing in the first half would never see the second."""
    x = random_tokens(1, tokens, dtype=torch.float32)
    first, second = random_tokens(2, 1, dtype=torch.float32)
    return torch.cat([x[:, : tokens // 2] + 2 * first, x[:, tokens // 2 :] + 2 * second], dim=1).to(torch.bfloat16)


def test_long_causal_sums_do_not_lose_bfloat16_tokens():
    narrow, wide = bfloat16_and_float32_twins(causal=True)
    x = drifting_tokens(8192)
    out, terms = narrow(x)
    exact_out, exact_terms = wide(x.float())
    assert_near(out[:, -1], exact_out[:, -1], 4 * BFLOAT16_ROUNDING)
    # The errors of the projected tokens average out in the running means.
    assert_near(narrow.scores(x).e[:, :, -1], wide.scores(x.float()).e[:, :, -1], 0.5 * BFLOAT16_ROUNDING)
    assert_near(terms, exact_terms, BFLOAT16_ROUNDING)


def test_long_data_dependent_sums_are_made_in_float32():
    narrow, wide = bfloat16_and_float32_twins(rows=4096)
    for layer in (narrow, wide):
        layer.we.data.abs_()  # all of one sign: a bfloat16 sum would stop growing after 256 of 4096 rows
    x = random_tokens(1, 4096).abs().to(torch.bfloat16)
    out, terms = narrow(x)
    exact_out, exact_terms = wide(x.float())
    assert_near(narrow.scores(x).we_x, wide.scores(x.float()).we_x, 1e-5)
    assert_near(terms, exact_terms, BFLOAT16_ROUNDING)
    assert_near(out, exact_out, 8 * BFLOAT16_ROUNDING)


@every_mode
def test_long_means_of_the_terms_are_made_in_float32(mode):
    layer, x = make_layer(dtype=torch.bfloat16, **MODES[mode]), random_tokens(1, 8192, dtype=torch.bfloat16)
    scores, (le, lr, _) = layer.scores(x), layer(x)[1]
    for term, score in ((le, scores.e), (lr, scores.r)):
        square = score.double().square() * layer.lambda_().double()[:, None]
        # The scores may be those of q and k rounded to bfloat16, one by one; a rounded sum would be off by far more.
        assert_near(term, square.sum(-1).mean((1, 2)) / 2, 1e-4)


@every_mode
def test_gradients_of_a_long_bfloat16_sequence_are_close_to_those_of_float32(mode):
    narrow, wide = bfloat16_and_float32_twins(**MODES[mode])
    x = drifting_tokens(8192)
    assert_near(run(narrow, x), run(wide, x.float()), 8 * BFLOAT16_ROUNDING)


@every_mode
def test_autocast_computes_in_bfloat16_and_keeps_the_terms_in_float32(mode):
    layer, x = make_layer(dtype=torch.float32, **MODES[mode]), random_tokens(2, 9, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        values = run(layer, x, lengths=torch.tensor([9, 6]))
    exact = run(layer, x, lengths=torch.tensor([9, 6]))
    assert values["out"].dtype == torch.bfloat16
    assert {value.dtype for name, value in values.items() if name != "out"} == {torch.float32}
    assert_near(values, exact, 8 * BFLOAT16_ROUNDING)
    assert_near([values[name] for name in ("le", "lr")], [exact[name] for name in ("le", "lr")], 4 * BFLOAT16_ROUNDING)
    # We and Wr are not rounded, so neither is their trace.
    assert_near(values["tr"], exact["tr"], 1e-6)


def test_autocast_of_cross_attention_scores_and_steps():
    layer, causal = make_layer(dtype=torch.float32), make_layer(dtype=torch.float32, causal=True)
    query, key = random_tokens(2, 4, dtype=torch.float32), random_tokens(2, 6, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        cross, _ = layer(query, key)
        scores = layer.scores(query, key)
        step, state = causal.step(query, causal.initial_state(2))
        full, _ = causal(query)
    assert cross.dtype == step.dtype == torch.bfloat16
    assert_near(cross, layer(query, key)[0], 8 * BFLOAT16_ROUNDING)
    assert {part.dtype for part in scores} == {torch.float32}
    assert state.q_sum.dtype == torch.float64
    assert_near(step, full, 2 * BFLOAT16_ROUNDING)


def test_autocast_leaves_float64_alone():
    layer, x = make_layer(), random_tokens(2, 5)
    expected, _ = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        out, _ = layer(x)
    assert torch.equal(out, expected)


@every_mode
@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float16, "Half"), (torch.int64, "Long"), (torch.bool, "Bool"), (torch.complex64, "ComplexFloat")],
)
def test_other_dtypes_are_refused(mode, dtype, name):
    layer = make_layer(dtype=torch.float32, **MODES[mode])
    if dtype == torch.float16:
        layer.half()
    with pytest.raises(TypeError, match=rf"^primal_attention: query must be float32, float64 or bfloat16, got {name}$"):
        layer(torch.ones(2, 5, 12).to(dtype))


@pytest.mark.parametrize(
    ("dtype", "token_dtype", "message"),
    [
        (torch.float32, torch.float64, "q_weight is Float but query is Double"),
        (torch.float64, torch.float32, "q_weight is Double but query is Float"),
        (torch.float32, torch.bfloat16, "q_weight is Float but query is BFloat16"),
    ],
)
def test_mixed_dtypes_are_refused(dtype, token_dtype, message):
    with pytest.raises(TypeError, match=f"^primal_attention: {message}$"):
        make_layer(dtype=dtype)(random_tokens(2, 5, dtype=token_dtype))


def every_layer():
    return [
        primal.PrimalAttention(12, 3, 4),
        primal.PrimalAttention(12, 3, 4, causal=True),
        primal.EncoderLayer(12, 3, 4, feed_forward=8),
    ]


def test_autocast_to_float16_is_refused_with_its_reason():
    for layer in every_layer():
        with (
            torch.autocast("cpu", torch.float16),
            pytest.raises(TypeError, match=r"autocast to float16 is not supported; use bfloat16, or implementation="),
        ):
            layer(torch.randn(2, 5, 12))


def test_plain_layers_work_under_autocast_to_float16():
    layer, x = primal.EncoderLayer(12, 3, 4, feed_forward=8, implementation="plain"), torch.randn(2, 5, 12)
    expected, exact_terms = layer(x)
    with torch.autocast("cpu", torch.float16):
        out, terms = layer(x)
    assert_near(out, expected, 1e-2)
    assert_near(terms, exact_terms, 1e-2)


@pytest.mark.parametrize("implementation", ["auto", "plain"])
def test_float16_tokens_are_refused(implementation):
    layer = primal.EncoderLayer(12, 3, 4, feed_forward=8, implementation=implementation).half()
    with pytest.raises(TypeError, match="query must be float32, float64 or bfloat16, got"):
        layer(torch.randn(2, 5, 12).half())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_quantize_dynamic_quantises_the_linear_maps():
    for layer in every_layer():
        x = torch.randn(2, 5, 12)
        quantised = torch.ao.quantization.quantize_dynamic(layer, {torch.nn.Linear})
        assert any("quantized" in type(module).__module__ for module in quantised.modules())
        difference = (quantised(x)[0] - layer(x)[0]).abs().max()
        assert 0 < difference < 0.1

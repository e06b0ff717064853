"""Padding is invisible: neither its length nor its place nor what stands in it changes anything."""

import pytest
import torch
from attention_cases import FEATURE_MAPS, MODES, TOLERANCE, assert_near, make_layer, random_tokens, run

from primal import padding_mask

LENGTHS = torch.tensor([6, 4, 1])
TERMS = ("le", "lr", "tr")

every_mode = pytest.mark.parametrize("mode", MODES)
both_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def scattered(tokens, keep, filler=0.0):
    """The tokens of each sample, in order, at the True places of keep [B, M]; the filler elsewhere. -> [B, M, D]"""
    result = torch.full((*keep.shape, tokens.shape[-1]), filler, dtype=tokens.dtype)
    for row, source, places in zip(result, tokens, keep, strict=True):
        row[places] = source[: places.sum()]
    return result


def collected(padded, keep, tokens):
    """The inverse: the values at the True places first, then zeros up to `tokens`."""
    result = padded.new_zeros(len(padded), tokens, padded.shape[-1])
    for row, source, places in zip(result, padded, keep, strict=True):
        row[: places.sum()] = source[places]
    return result


def run_scattered(layer, tokens, keep, filler=0.0):
    """The pass on padded tokens, its per-token results collected. The read-out is the same for any padding."""
    weight = scattered(torch.randn(tokens.shape, generator=torch.Generator().manual_seed(1)).to(tokens), keep)
    values = run(layer, scattered(tokens, keep, filler), weight=weight, key_padding_mask=~keep)
    assert torch.all(values["out"][~keep] == 0)
    assert torch.all(values["grad.x"][~keep] == 0)
    for name in ("out", "grad.x"):
        values[name] = collected(values[name], keep, tokens.shape[1])
    return values


def right_padded(tokens):
    return ~padding_mask(LENGTHS, tokens)


def holes():
    keep = torch.zeros(3, 11, dtype=torch.bool)
    for row, length in zip(keep, LENGTHS.tolist(), strict=True):
        row[torch.randperm(11)[:length]] = True
    return keep


@both_dtypes
@every_mode
@pytest.mark.parametrize("tokens", [7, 10, 64])
def test_result_does_not_depend_on_the_padding_length(mode, dtype, tokens):
    layer, x = make_layer(dtype=dtype, **MODES[mode]), random_tokens(3, 6, dtype=dtype)
    expected = run_scattered(layer, x, right_padded(6))
    assert_near(run_scattered(layer, x, right_padded(tokens)), expected, TOLERANCE[dtype])


@every_mode
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_result_does_not_depend_on_what_stands_in_padded_tokens(mode, feature_map):
    layer, x = make_layer(feature_map=feature_map, **MODES[mode]), random_tokens(3, 6)
    expected = run_scattered(layer, x, right_padded(9))
    for filler in (1e30, float("nan"), float("inf"), float("-inf")):
        actual = run_scattered(layer, x, right_padded(9), filler)
        assert all(torch.equal(actual[name], expected[name]) for name in expected), filler


@every_mode
def test_padded_tokens_may_be_nan_when_the_feature_map_is_a_python_function(mode):
    layer, x = make_layer(feature_map=torch.tanh, **MODES[mode]), random_tokens(3, 6)
    expected = run_scattered(layer, x, right_padded(6))
    assert_near(run_scattered(layer, x, right_padded(9), float("nan")), expected, 1e-12)


@both_dtypes
@every_mode
@pytest.mark.parametrize("place", ["left", "holes"])
def test_padding_on_the_left_or_between_equals_the_compacted_sequence(mode, dtype, place):
    layer, x = make_layer(dtype=dtype, **MODES[mode]), random_tokens(3, 6, dtype=dtype)
    keep = right_padded(10).flip(1) if place == "left" else holes()
    expected = run_scattered(layer, x, right_padded(6))
    assert_near(run_scattered(layer, x, keep, float("nan")), expected, TOLERANCE[dtype])


@both_dtypes
@every_mode
def test_padded_sample_equals_that_sample_alone(mode, dtype):
    layer, x = make_layer(dtype=dtype, **MODES[mode]), random_tokens(3, 6, dtype=dtype)
    out, terms = layer(x, lengths=LENGTHS)
    for sample, length in enumerate(LENGTHS.tolist()):
        alone_out, alone_terms = layer(x[sample : sample + 1, :length])
        assert_near(out[sample, :length], alone_out[0], TOLERANCE[dtype])
        assert_near([term[sample] for term in terms], [term[0] for term in alone_terms], TOLERANCE[dtype])


@every_mode
def test_lengths_mean_the_mask(mode):
    layer, x = make_layer(**MODES[mode]), random_tokens(3, 6)
    by_lengths, by_mask = run(layer, x, lengths=LENGTHS), run(layer, x, key_padding_mask=padding_mask(LENGTHS, 6))
    by_other_name = run(layer, x, query_padding_mask=padding_mask(LENGTHS, 6))
    for name, value in by_mask.items():
        assert torch.equal(by_lengths[name], value), name
        assert torch.equal(by_other_name[name], value), name


def test_padding_mask_is_true_from_the_length_on():
    assert padding_mask(torch.tensor([2, 0, 3]), 3).tolist() == [[False, False, True], [True] * 3, [False] * 3]


@every_mode
@pytest.mark.parametrize("padding", ["respect", "ignore"])
def test_mask_without_padding_changes_nothing(mode, padding):
    layer, x = make_layer(padding=padding, **MODES[mode]), random_tokens(3, 6)
    assert_near(run(layer, x, lengths=torch.full((3,), 6)), run(layer, x), 1e-12)


@every_mode
@pytest.mark.parametrize("filler", [0.0, float("nan")])
def test_fully_padded_sample_gives_zero_and_leaves_the_others_alone(mode, filler):
    layer, x = make_layer(**MODES[mode]), random_tokens(3, 6)
    x[1] = filler
    values = run(layer, x, lengths=torch.tensor([6, 0, 6]))
    assert all(torch.isfinite(value).all() for value in values.values())
    assert torch.all(values["out"][1] == 0)
    assert values["le"][1] == 0
    assert values["lr"][1] == 0
    out, terms = layer(x[::2])
    assert_near(values["out"][::2], out, 1e-12)
    assert_near([values[name][::2] for name in TERMS], terms, 1e-12)


@both_dtypes
@every_mode
def test_ignored_padding_only_zeroes_the_input_of_the_output_projection(mode, dtype):
    layer, x = make_layer(dtype=dtype, padding="ignore", **MODES[mode]), random_tokens(3, 6, dtype=dtype)
    masked, plain = run(layer, x, lengths=LENGTHS), run(layer, x)
    padded = padding_mask(LENGTHS, 6)
    assert_near([masked[name] for name in TERMS], [plain[name] for name in TERMS], TOLERANCE[dtype])
    assert_near(masked["out"][~padded], plain["out"][~padded], TOLERANCE[dtype])
    assert_near(masked["out"][padded], layer.out_proj.bias.expand(int(padded.sum()), -1), TOLERANCE[dtype])


def test_ignored_padding_takes_part_in_everything_else():
    layer, x = make_layer(padding="ignore"), random_tokens(3, 6)
    changed = x.clone()
    changed[padding_mask(LENGTHS, 6)] += 1
    before, after = run(layer, x, lengths=LENGTHS), run(layer, changed, lengths=LENGTHS)
    assert not torch.allclose(before["out"][2, 0], after["out"][2, 0])
    assert not torch.allclose(before["le"], after["le"])

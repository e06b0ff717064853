"""Cross-attention: q from one sequence, k and the sampled rows from another, of any length."""

import pytest
import torch
from attention_cases import FEATURE_MAPS, OUTPUTS, TOLERANCE, assert_near, make_layer, oracle, random_tokens, run

from primal import padding_mask

WEIGHTS = {"data_dependent": {"data_dependent": True}, "data_independent": {"data_dependent": False}}
both_weights = pytest.mark.parametrize("options", WEIGHTS.values(), ids=WEIGHTS)


@both_weights
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("padded", [False, True])
def test_a_sequence_attending_to_itself_is_self_attention(options, dtype, padded):
    layer, x = make_layer(dtype=dtype, **options), random_tokens(3, 7, dtype=dtype)
    lengths = torch.tensor([7, 4, 0])
    cross = run(layer, x, x, **{"lengths": lengths, "key_lengths": lengths} if padded else {})
    cross["grad.x"] = cross["grad.x"] + cross.pop("grad.key")
    assert_near(cross, run(layer, x, **{"lengths": lengths} if padded else {}), TOLERANCE[dtype])


@both_weights
@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
@pytest.mark.parametrize(("queries", "keys"), [(7, 3), (3, 7), (1, 5), (5, 1), (6, 6)])
def test_two_lengths_give_the_output_and_scores_of_the_oracle(options, feature_map, queries, keys):
    layer, query, key = (
        make_layer(feature_map=feature_map, **options),
        random_tokens(2, queries),
        random_tokens(2, keys),
    )
    expected, scores = oracle(layer, query, key), layer.scores(query, key)
    out, terms = layer(query, key)
    assert_near((out, *terms), [getattr(expected, name) for name in OUTPUTS], 1e-12)
    assert_near(scores, (expected.e, expected.r, expected.we_x, expected.wr_x), 1e-12)


@both_weights
def test_gradients_reach_the_query_and_the_key(options):
    values = run(make_layer(**options), random_tokens(2, 4), random_tokens(2, 6))
    for name in ("grad.x", "grad.key"):
        assert torch.all(values[name].abs().sum(-1) > 0)


def test_scores_e_come_from_the_query_and_r_from_the_key():
    layer = make_layer(data_dependent=False)
    query, key, other = random_tokens(2, 4), random_tokens(2, 6), random_tokens(2, 6)
    before, other_key, other_query = layer.scores(query, key), layer.scores(query, other), layer.scores(other, key)
    assert torch.equal(before.e, other_key.e)
    assert torch.equal(before.r, other_query.r)
    assert not torch.allclose(before.r, other_key.r)


def test_rows_are_sampled_from_the_key():
    layer = make_layer()
    query, key, other = random_tokens(2, 4), random_tokens(2, 6), random_tokens(2, 6)
    assert torch.equal(layer.scores(query, key).we_x, layer.scores(other, key).we_x)
    assert not torch.allclose(layer.scores(query, key).we_x, layer.scores(query, other).we_x)


def key_position_beside_each_query(queries, keys, **masks):
    """A layer whose output is r itself, with r the position of the key token."""
    layer = make_layer(1, 1, 1, data_dependent=False, feature_map="identity", bias=False)
    for weight in layer.parameters():
        weight.data.fill_(1)
    layer.score_proj.weight.data[:, 0] = 0  # e
    positions = torch.arange(keys, dtype=torch.float64).view(1, -1, 1)
    return layer(torch.ones(1, queries, 1, dtype=torch.float64), positions, **masks)[0].flatten().tolist()


@pytest.mark.parametrize(
    ("queries", "keys", "beside"),
    [
        (5, 5, [0, 1, 2, 3, 4]),
        (3, 5, [0, 2, 4]),
        (5, 3, [0, 0, 1, 1, 2]),
        (4, 8, [0, 2, 4, 7]),
        (1, 6, [0]),
        (4, 1, [0, 0, 0, 0]),
    ],
)
def test_queries_are_spread_evenly_over_the_keys(queries, keys, beside):
    assert key_position_beside_each_query(queries, keys) == beside


def test_padded_tokens_are_left_out_of_the_alignment():
    key_mask = torch.tensor([[True, False, True, False, False, True]])  # leaves 1, 3, 4
    assert key_position_beside_each_query(3, 6, key_padding_mask=key_mask) == [1, 3, 4]
    query_mask = torch.tensor([[False, True, False, False, True]])
    assert key_position_beside_each_query(5, 3, query_padding_mask=query_mask) == [0, 0, 1, 2, 0]


@both_weights
def test_result_does_not_depend_on_the_padding_of_either_sequence(options):
    layer, query, key = make_layer(**options), random_tokens(2, 9), random_tokens(2, 8)
    lengths, key_lengths = torch.tensor([4, 2]), torch.tensor([3, 6])
    query[padding_mask(lengths, 9)] = key[padding_mask(key_lengths, 8)] = float("nan")
    expected = run(
        layer, query[:, :4], key[:, :6], lengths=lengths, key_lengths=key_lengths, weight=torch.ones(2, 4, 12)
    )
    weight = torch.ones(2, 9, 12)
    actual = run(layer, query, key, lengths=lengths, key_lengths=key_lengths, weight=weight)
    for name, tokens in (("out", 4), ("grad.x", 4), ("grad.key", 6)):
        assert torch.all(actual[name][:, tokens:] == 0)
        actual[name] = actual[name][:, :tokens]
    assert_near(actual, expected, 1e-12)


@both_weights
def test_a_fully_padded_key_gives_finite_results(options):
    layer, query, key = make_layer(**options), random_tokens(2, 4), random_tokens(2, 6)
    key[1] = float("nan")
    values = run(layer, query, key, key_lengths=torch.tensor([6, 0]))
    assert all(torch.isfinite(value).all() for value in values.values())
    assert torch.all(values["lr"][1] == 0)
    assert torch.all(values["grad.key"][1] == 0)

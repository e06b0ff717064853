"""The published layer on numbers worked out by hand: two small layers, and which rows are sampled."""

import pytest
import torch
from attention_cases import make_layer, oracle

from primal import reference

# x, weights: g(k, offset) = (((7k + offset) mod 11) - 5) / 10 of the flat index k. B=1, N=4, D=4, H=2, d=2, s=2.
DATA_DEPENDENT = {
    "options": {"rows": 3},
    "out": [
        [0.093004, 0.099514, 0.108897, 0.115407],
        [-0.188296, 0.079306, -0.122266, 0.145336],
        [0.047541, 0.121849, 0.083883, 0.158191],
        [-0.183287, 0.087084, -0.117993, 0.152378],
    ],
    "e head 0": [[0.332928, 0.140627], [-0.332039, 0.009487], [-0.064501, -0.248790], [-0.348645, -0.048635]],
    "r head 1": [[-0.277010, 0.263464], [0.304568, -0.291109], [-0.076822, 0.075542], [0.302076, -0.288834]],
    "terms": [0.02255327, 0.01821127, 0.275],
    "objective": [-0.23423546, 0.05486625],
}
CAUSAL = {
    "options": {"causal": True},
    "out": [
        [-0.094390, 0.136710, -0.083284, 0.147816],
        [0.058017, -0.029954, 0.087996, 0.000024],
        [0.065399, 0.018661, 0.087046, 0.040308],
        [0.072211, -0.033624, 0.131139, 0.025304],
    ],
    "e head 0": [[-0.156823, -0.413910], [-0.223565, -0.034395], [-0.197621, -0.290619], [0.039062, 0.536217]],
    "r head 1": [[-0.345416, -0.060956], [-0.483141, 0.505440], [-0.526965, 0.443760], [-0.014274, 0.399667]],
    "terms": [0.04192560, 0.04644874, 0.155],
    "objective": [-0.06662567, 0.00443898],
}

# length, n, rule, the first positions (as many as show how the rules differ) and the last one
SAMPLED = [
    (1751, 300, "exact", [0, 5, 11, 17, 23, 29, 35, 40], 1750),
    (1751, 300, "linspace", [0, 5, 11, 17, 23, 29, 35, 40], 1750),
    (2048, 200, "exact", [0, 10, 20, 30, 41, 51, 61, 72], 2047),
    (2048, 200, "legacy", [0, 10, 20, 30, 41, 51, 61, 71], 2046),
    (1024, 300, "exact", [0, 3, 6, 10, 13, 17, 20, 23], 1023),
    (1024, 300, "legacy", [0, 3, 6, 10, 13, 16, 19, 23], None),
]


def g(offset, *shape):
    k = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
    return (((7 * k + offset) % 11 - 5) / 10).reshape(shape)


def hand_layer(options):
    layer = make_layer(4, 2, 2, **options)
    layer.load_state_dict(
        {
            "q_proj.weight": g(1, 4, 4),
            "k_proj.weight": g(2, 4, 4),
            "out_proj.weight": g(9, 4, 4),
            "we": g(4, *layer.we.shape),
            "wr": g(5, *layer.wr.shape),
            "lam": 0.5 + g(6, 2, 2),
            "score_proj.weight": g(7, 2, 4),
            "score_proj.bias": g(8, 2),
            **{f"{name}_proj.bias": torch.zeros(4, dtype=torch.float64) for name in "qk"},
            "out_proj.bias": torch.zeros(4, dtype=torch.float64),
        }
    )
    return layer


def through_operator(layer, x):
    out, terms = layer(x)
    scores = layer.scores(x)
    return out, scores.e, scores.r, terms


def through_reference(layer, x):
    result = oracle(layer, x)
    return result.out, result.e, result.r, (result.le, result.lr, result.tr)


def assert_printed(actual, printed, decimals):
    expected = torch.tensor(printed, dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0.51 * 10.0**-decimals)


@pytest.mark.parametrize("compute", [through_operator, through_reference])
@pytest.mark.parametrize("vectors", [DATA_DEPENDENT, CAUSAL], ids=["data_dependent", "causal"])
def test_layer_gives_the_numbers_worked_out_by_hand(compute, vectors):
    out, e, r, (le, lr, tr) = compute(hand_layer(vectors["options"]), g(3, 1, 4, 4))
    assert_printed(out[0], vectors["out"], decimals=6)
    assert_printed(e[0, 0], vectors["e head 0"], decimals=6)
    assert_printed(r[0, 1], vectors["r head 1"], decimals=6)
    assert_printed(torch.cat([le, lr, tr]), vectors["terms"], decimals=8)
    j = reference.ksvd_objective(le, lr, tr)
    assert_printed(torch.cat([j, j.square()]), vectors["objective"], decimals=8)


def positions_of_layer(length, n, sampling):
    """With x = 0, 1, 2, ... and We = I the weights We|X are the sampled positions themselves."""
    layer = make_layer(1, 1, n, n, sampling=sampling)
    torch.nn.init.eye_(layer.we.data[0])
    return layer.scores(torch.arange(length, dtype=torch.float64).view(1, -1, 1)).we_x.flatten().tolist()


def positions_of_reference(length, n, sampling):
    ranks = {"exact": reference.even_ranks, "linspace": reference.linspace_ranks, "legacy": reference.legacy_ranks}
    return ranks[sampling](torch.tensor([length]), n)[0].tolist()


both_ways = pytest.mark.parametrize("positions", [positions_of_layer, positions_of_reference], ids=["layer", "oracle"])


@both_ways
@pytest.mark.parametrize(("length", "n", "sampling", "first", "last"), SAMPLED)
def test_sampled_rows_are_the_published_ones(positions, length, n, sampling, first, last):
    taken = positions(length, n, sampling)
    assert len(taken) == n
    assert taken[: len(first)] == first
    assert last is None or taken[-1] == last


@both_ways
def test_legacy_sampling_is_up_to_one_position_lower(positions):
    exact, legacy = positions(896, 300, "exact"), positions(896, 300, "legacy")
    lower = [a - b for a, b in zip(exact, legacy, strict=True)]
    assert set(lower) == {0, 1}
    assert sum(lower) == 217


@both_ways
def test_linspace_sampling_is_that_of_this_pytorch(positions):
    # In the first three the rounded step lands beside a whole number.
    for length, n in [(15, 51), (29, 83), (3, 99), (101, 7), (64, 63), (5, 9), (2, 1), (1, 4)]:
        expected = torch.linspace(0, length - 1, n, dtype=torch.int64)
        assert positions(length, n, "linspace") == expected.tolist(), f"{n} of {length}"


@both_ways
@pytest.mark.parametrize("sampling", ["exact", "linspace", "legacy"])
def test_one_sampled_row_is_the_first_and_as_many_as_tokens_are_all(positions, sampling):
    assert positions(9, 1, sampling) == [0]
    assert positions(9, 9, sampling) == list(range(9))

"""The feature maps: the kernels they stand for, extreme tokens, and maps written in Python."""

import pytest
import torch
from attention_cases import FEATURE_MAPS, MODES, TOLERANCE, assert_near, make_layer, random_tokens, run
from torch.nn.functional import cosine_similarity

from primal import reference

HEAD_DIM = 4


def features(name, u):
    """phi(u) through the operator: one head, q = u and We = I make e = phi(q). u: [N, 4] -> [N, p]"""
    width = torch.ops.primal_util.feature_width(name, HEAD_DIM)
    layer = make_layer(HEAD_DIM, 1, width, feature_map=name, data_dependent=False, bias=False, dtype=u.dtype)
    torch.nn.init.eye_(layer.q_proj.weight)
    torch.nn.init.eye_(layer.we.data[0])
    return layer.scores(u[None]).e[0, 0]


def kernel(name, q, k):
    return (features(name, q) * features(name, k)).sum(-1)


@pytest.fixture
def pair():
    return random_tokens(2, 20, HEAD_DIM)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("identity", lambda q, k: (q * k).sum(-1)),
        ("cosine", lambda q, k: cosine_similarity(q, k, dim=-1)),
        ("exponential", lambda q, k: cosine_similarity(q.exp(), k.exp(), dim=-1)),
        *[(f"polynomial({m})", lambda q, k, m=m: cosine_similarity(q, k, dim=-1) ** m) for m in (1, 2, 3, 5)],
    ],
)
def test_inner_products_of_the_features_are_the_kernel(name, expected, pair):
    assert_near(kernel(name, *pair), expected(*pair), 1e-12)


@pytest.mark.parametrize(
    ("name", "width"), [("cosine", 4), ("polynomial(1)", 4), ("polynomial(2)", 10), ("polynomial(3)", 20)]
)
def test_number_of_features(name, width, pair):
    assert torch.ops.primal_util.feature_width(name, HEAD_DIM) == width
    assert features(name, pair[0]).shape == (20, width)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", ["cosine", "exponential", "polynomial(2)"])
def test_features_of_huge_and_tiny_tokens_have_length_one(name, dtype):
    for scale in (1e-9, 1e4, 1e15):
        length = features(name, (scale * random_tokens(1, 20, HEAD_DIM)[0]).to(dtype)).norm(dim=-1)
        assert_near(length, torch.ones_like(length), 1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_zero_tokens_give_finite_results(mode, name):
    layer = make_layer(feature_map=name, bias=False, **MODES[mode])
    values = run(layer, torch.zeros(2, 5, 12, dtype=torch.float64))
    assert all(torch.isfinite(value).all() for value in values.values())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*FEATURE_MAPS, "polynomial(3)"])
def test_the_same_map_written_in_python_gives_the_same_layer(mode, name):
    named = make_layer(feature_map=name, **MODES[mode])
    written = make_layer(feature_map=reference.feature_map(name), **MODES[mode])
    written.load_state_dict(named.state_dict())
    x, lengths = random_tokens(3, 6), torch.tensor([6, 3, 0])
    assert_near(run(written, x, lengths=lengths), run(named, x, lengths=lengths), 1e-12)
    assert_near(written.scores(x, lengths=lengths), named.scores(x, lengths=lengths), 1e-12)

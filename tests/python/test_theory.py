"""The layer solves the kernel SVD: with the weights of the theory its scores are singular vectors and J is 0."""

import pytest
import torch
from attention_cases import FEATURE_MAPS, assert_near, make_layer, random_tokens

from primal import reference

HEADS, RANK, TOKENS = 3, 2, 11


def features(layer, x, projection):
    """phi of the projected tokens, per head. -> [H, N, p]"""
    u = projection(x)
    if layer.causal:
        u = reference.running_mean(u, torch.ones(u.shape[:2], dtype=torch.bool))
    return reference.feature_map(layer.feature_map)(reference._split(u, HEADS))[0]


@torch.no_grad()
def set_to_singular_vectors(layer, x, counted):
    """We = Phi_k^T V, Wr = Phi_q^T U, Lambda = N / S for K = Phi_q Phi_k^T = U S V^T. -> U S and V S of rank s"""
    phi_q, phi_k = features(layer, x, layer.q_proj)[:, counted], features(layer, x, layer.k_proj)[:, counted]
    u, s, vh = torch.linalg.svd(phi_q @ phi_k.mT, full_matrices=False)
    u, s, v = u[..., :RANK], s[..., :RANK], vh.mT[..., :RANK]
    layer.we.copy_(phi_k.mT @ v)
    layer.wr.copy_(phi_q.mT @ u)
    layer.lam.copy_((phi_q.shape[1] / s).sqrt())
    return u * s[:, None], v * s[:, None]


@pytest.fixture(params=["data_independent", "causal", "padded"])
def solved(request, feature_map):
    """A layer at the solution for x, x itself, its mask, and U S and V S."""
    layer = make_layer(12, HEADS, RANK, causal=request.param == "causal", data_dependent=False, feature_map=feature_map)
    x = random_tokens(1, TOKENS)
    mask = torch.arange(TOKENS)[None] >= (TOKENS - 3 if request.param == "padded" else TOKENS)
    return layer, x, mask, set_to_singular_vectors(layer, x, ~mask[0])


@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_scores_are_the_singular_vectors_times_the_singular_values(solved):
    layer, x, mask, (u_s, v_s) = solved
    scores = layer.scores(x, key_padding_mask=mask)
    assert_near(scores.e[0][:, ~mask[0]], u_s, 1e-12)
    assert_near(scores.r[0][:, ~mask[0]], v_s, 1e-12)


@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_objective_is_zero(solved):
    layer, x, mask, _ = solved
    _, terms = layer(x, key_padding_mask=mask)
    assert terms.tr.item() > 0.1
    assert abs(terms.objective().item()) < 1e-12 * terms.tr.item()
    assert_near(terms.le, terms.lr, 1e-12)


@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_objective_is_stationary_in_the_weights(solved):
    layer, x, mask, _ = solved
    _, terms = layer(x, key_padding_mask=mask)
    grads = torch.autograd.grad(terms.objective().sum(), [layer.we, layer.wr])
    for grad, balance in zip(grads, (layer.wr, layer.we), strict=True):
        assert grad.abs().max() < 1e-12 * balance.abs().max()


@pytest.mark.parametrize("feature_map", FEATURE_MAPS)
def test_conditions_are_met_there_and_not_by_other_weights(solved):
    layer, x, mask, _ = solved
    assert layer.stationarity(x, key_padding_mask=mask).item() < 1e-20
    layer.reset_parameters()
    assert layer.stationarity(x, key_padding_mask=mask).item() > 0.5


@pytest.mark.parametrize("trace", ["raw", "data_dependent"])
@pytest.mark.parametrize("padding", ["respect", "ignore"])
def test_conditions_are_the_gradient_of_the_objective(trace, padding):
    """dJ / dWr = F Phi_k^T R L - We for one head and one sequence; with the trace on data F (Phi_k^T R L - We|X)."""
    layer = make_layer(6, 1, 2, 6, trace=trace, padding=padding)
    x, lengths = random_tokens(1, TOKENS, 6), [TOKENS - 2]
    _, terms = layer(x, lengths=lengths)
    of_wr, of_we = torch.autograd.grad(terms.objective().sum(), [layer.wr, layer.we])
    weights = [layer.we, layer.wr]
    if trace == "data_dependent":  # six rows of six numbers: F can be undone
        rows = reference.take(x, reference.even_ranks(torch.tensor(lengths if padding == "respect" else [TOKENS]), 6))
        of_wr, of_we = (torch.linalg.solve(rows, gradient) for gradient in (of_wr, of_we))
        weights = [rows.mT @ weight for weight in weights]
    expected = sum((g.norm() / w.norm()).square() for g, w in zip((of_wr, of_we), weights, strict=True))
    assert_near(layer.stationarity(x, lengths=lengths)[0], expected, 1e-9)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "memory": "decay"}])
def test_conditions_can_be_differentiated(options):
    layer = make_layer(6, 2, 2, 4, **options)
    x = random_tokens(2, 5, 6).requires_grad_()
    mask = torch.arange(5)[None] >= torch.tensor([[5], [3]])

    def residual(x, *_):
        return layer.stationarity(x, key_padding_mask=mask)

    scored = [p for name, p in layer.named_parameters() if not name.startswith(("score_proj", "out_proj"))]
    assert torch.autograd.gradcheck(residual, (x, *scored))

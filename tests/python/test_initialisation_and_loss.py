"""How a layer starts, and how its terms become a loss."""

import pytest
import torch
from attention_cases import assert_near, make_layer, random_tokens

from primal import KsvdTerms, ksvd_loss

LAMBDA_FORMS = ("squared", "softplus", "exp")


def parameters_of(layer):
    return [weight.detach().double() for weight in (layer.we, layer.wr)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", [{"rows": 7}, {"causal": True}], ids=str)
def test_reference_heads_have_norm_one_and_are_orthogonal(options, dtype):
    layer = make_layer(12, 3, 4, dtype=dtype, **options)
    for weight in parameters_of(layer):
        flat = weight.flatten(1)
        assert_near(flat @ flat.mT, torch.eye(3, dtype=torch.float64), 8 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("rows", [4, 9])
def test_per_head_orthonormal_columns_are_orthonormal(rows):
    for weight in parameters_of(make_layer(rows=rows, init="per_head_orthonormal")):
        assert_near(weight.mT @ weight, torch.eye(4, dtype=torch.float64).expand(3, 4, 4), 1e-14)


def test_reference_columns_are_not_orthonormal():
    """The published initialisation, on purpose: all of a head together has norm 1."""
    for weight in parameters_of(make_layer(rows=9)):
        assert (weight.square().sum(1) < 0.9).all()


@pytest.mark.parametrize("form", LAMBDA_FORMS)
def test_lambda_starts_as_the_square_of_a_uniform_number_in_every_form(form):
    torch.manual_seed(3)
    uniform = make_layer(12, 3, 50).lam.detach()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert 0.3 < uniform.mean() < 0.7
    torch.manual_seed(3)
    layer = make_layer(12, 3, 50, lambda_form=form)
    assert_near(layer.lambda_().detach(), uniform.square().clamp_min(1e-6), 1e-12)


@pytest.mark.parametrize("form", LAMBDA_FORMS)
def test_lambda_is_positive_for_any_parameter(form):
    layer = make_layer(lambda_form=form)
    layer.lam.data.copy_(torch.linspace(-5, 5, 12).view(3, 4))
    expected = {"squared": torch.square, "exp": torch.exp, "softplus": lambda u: (1 + u.exp()).log()}[form](layer.lam)
    assert (layer.lambda_() > 0).all()
    assert_near(layer.lambda_(), expected, 1e-14)


@pytest.mark.parametrize("form", LAMBDA_FORMS)
def test_terms_are_linear_in_lambda(form):
    layer, x = make_layer(lambda_form=form), random_tokens(2, 5)
    _, terms = layer(x)
    scores = layer.scores(x)
    for term, score in ((terms.le, scores.e), (terms.lr, scores.r)):
        assert_near(term, torch.einsum("bhns,hs->b", score.square(), layer.lambda_()) / (2 * 3 * 5), 1e-12)


def test_reset_draws_all_parameters_again():
    layer = make_layer()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    layer.reset_parameters()
    assert all(not torch.equal(before[name], value) for name, value in layer.state_dict().items())


# Two layers, batch of 2: J = (1, 3) and (-2, 0).
FIRST = KsvdTerms(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0]), torch.tensor([2.0, 2.0]))
SECOND = KsvdTerms(torch.tensor([0.5, 1.0]), torch.tensor([0.5, 1.0]), torch.tensor([3.0, 2.0]))


def test_objective_is_le_plus_lr_minus_tr():
    assert FIRST.objective().tolist() == [1, 3]
    assert SECOND.objective().tolist() == [-2, 0]


@pytest.mark.parametrize(
    ("layers", "reduction", "expected"),
    [
        (FIRST, "per_sample", 0.5 * (1 + 9) / 2),
        (FIRST, "batch_mean", 0.5 * 2**2),
        (FIRST, "none", [0.5 * 1, 0.5 * 9]),
        ([FIRST, SECOND], "per_sample", 0.5 * ((1 + 9) / 2 + (4 + 0) / 2) / 2),
        ([FIRST, SECOND], "batch_mean", 0.5 * (2**2 + 1**2) / 2),
        ([FIRST, SECOND], "none", [0.5 * (1 + 4) / 2, 0.5 * (9 + 0) / 2]),
    ],
)
def test_loss_is_eta_times_the_mean_over_layers_of_the_squared_objective(layers, reduction, expected):
    assert ksvd_loss(layers, 0.5, reduction).tolist() == expected


def test_loss_takes_any_iterable_of_layers_and_is_per_sample_unless_told():
    assert ksvd_loss(iter([FIRST, SECOND]), eta=0.5) == ksvd_loss([FIRST, SECOND], 0.5, "per_sample")


def test_loss_is_differentiated_through_all_terms():
    layer, x = make_layer(), random_tokens(2, 5).requires_grad_()
    ksvd_loss(layer(x)[1], eta=0.1).backward()
    reached = {name for name, value in layer.named_parameters() if value.grad.abs().sum() > 0}
    assert reached == {"q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias", "we", "wr", "lam"}
    assert x.grad.abs().sum() > 0

"""A mistake is answered by a ValueError (shape, option, device) or TypeError (dtype) that gives both values."""

import re

import numpy as np
import pytest
import torch
from attention_cases import DIFFERENTIABLE, make_layer, random_arguments, random_tokens

from primal import EncoderLayer, PrimalAttention, ksvd_loss, padding_mask

KNOWN_MAPS = "known: polynomial(degree), cosine, exponential, identity"


def refuses(kind, message):
    return pytest.raises(kind, match=re.escape(message))


def refuses_shape(name, expected, got):
    """... must be [B, N] = [2, 5], got [2, 6]"""
    sizes = f"{re.escape(str(list(expected)))}, got {re.escape(str(got))}"
    return pytest.raises(ValueError, match=rf"^primal_attention: {name} must be .* = {sizes}$")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 13}, "embed_dim 13 is not divisible by 3 heads"),
        ({"width": 0}, "embed_dim must be at least 1, got 0"),
        ({"heads": 0}, "num_heads must be at least 1, got 0"),
        ({"rank": -1}, "rank must be at least 1, got -1"),
        ({"rows": 0}, "rows must be at least 1, got 0"),
        ({"causal": True, "data_dependent": True}, "causal attention needs data-independent weights"),
        ({"padding": "keep"}, "padding must be one of respect, ignore, got 'keep'"),
        ({"trace": "none"}, "trace must be one of raw, data_dependent, got 'none'"),
        ({"lambda_form": "raw"}, "lambda_form must be one of squared, softplus, exp, got 'raw'"),
        ({"init": "normal"}, "init must be one of reference, per_head_orthonormal, got 'normal'"),
        ({"projections": "e"}, "projections must be one of both, right, left, got 'e'"),
        ({"sampling": "random"}, "sampling must be one of exact, linspace, legacy, got 'random'"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(options, message):
    with refuses(ValueError, f"PrimalAttention: {message}"):
        make_layer(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": "12"}, "PrimalAttention: embed_dim must be an integer, got str '12'"),
        ({"rank": 2.0}, "PrimalAttention: rank must be an integer, got float 2.0"),
        ({"rows": [5]}, "PrimalAttention: rows must be an integer, got list [5]"),
        ({"feature_map": 3}, "PrimalAttention: feature_map must be a name or a function, got 3"),
        ({"causal": "no"}, "PrimalAttention: causal must be True or False, got str 'no'"),
        ({"data_dependent": 1}, "PrimalAttention: data_dependent must be True or False, got int 1"),
        ({"bias": "no"}, "PrimalAttention: bias must be True or False, got str 'no'"),
        ({"feed_forward": 8, "norm_first": "no"}, "EncoderLayer: norm_first must be True or False, got str 'no'"),
        ({"feed_forward": 8, "recompute": 2}, "EncoderLayer: recompute must be True or False, got int 2"),
        ({"feed_forward": "8"}, "EncoderLayer: feed_forward must be an integer, got str '8'"),
        ({"feed_forward": 8, "dropout": "0.1"}, "EncoderLayer: dropout must be a number, got str '0.1'"),
        ({"feed_forward": 8, "width": "12"}, "PrimalAttention: embed_dim must be an integer, got str '12'"),
    ],
    ids=str,
)
def test_options_of_another_type(options, message):
    arguments = {"width": 12, "heads": 3, "rank": 4} | options
    kind = EncoderLayer if "feed_forward" in options else PrimalAttention
    sizes = [arguments.pop(name) for name in ("width", "heads", "rank")]
    with refuses(TypeError, message):
        kind(*sizes, **arguments)


def test_numbers_of_numpy_are_sizes_too():
    layer = PrimalAttention(np.int64(12), np.int32(3), np.int64(4))
    assert "12, 3, rank=4, rows=40" in repr(layer)
    layer = EncoderLayer(12, 3, 4, feed_forward=8, dropout=np.float32(0.25), causal=np.bool_(True))
    assert (layer.dropout, layer.attention.causal) == (0.25, True)


def test_repr_has_the_options_that_are_not_their_default():
    assert make_layer().extra_repr() == "12, 3, rank=4, rows=5, feature_map=cosine"
    assert make_layer(causal=True).extra_repr() == "12, 3, rank=4, feature_map=cosine, causal=True"
    changed = {
        "feature_map": "identity",
        "data_dependent": False,
        "padding": "ignore",
        "bias": False,
        "trace": "data_dependent",
        "lambda_form": "exp",
        "init": "per_head_orthonormal",
        "projections": "right",
        "sampling": "legacy",
        "implementation": "plain",
    }
    text = make_layer(**changed).extra_repr()
    assert all(f"{name}={value}" in text for name, value in changed.items()), text
    options = {"dropout": 0.5, "norm_first": True, "activation": "relu", "recompute": True}
    text = EncoderLayer(12, 3, 4, feed_forward=8, **options).extra_repr()
    assert all(f"{name}={value}" in text for name, value in options.items()), text


@pytest.mark.parametrize("data_dependent", [True, False])
@pytest.mark.parametrize("name", ["cosin", "polynomial(0)", "polynomial(two)", "polynomial", ""])
def test_unknown_feature_map_lists_the_known_ones(name, data_dependent):
    with refuses(ValueError, f'feature map "{name}" is not known; {KNOWN_MAPS}'):
        make_layer(feature_map=name, data_dependent=data_dependent)


@pytest.mark.parametrize("mode", ["data_dependent", "data_independent"])
def test_operator_refuses_an_unknown_feature_map(mode):
    arguments, switches = random_arguments(mode)
    with refuses(ValueError, f'feature map "cosin" is not known; {KNOWN_MAPS}'):
        torch.ops.primal.attention(*arguments, **switches | {"feature_map": "cosin"})


def test_feature_map_with_too_many_features_says_how_many_it_may_have():
    with refuses(ValueError, "polynomial(40): a head of width 16 has more than 65536 monomials"):
        make_layer(48, 3, data_dependent=False, feature_map="polynomial(40)")


def changed_argument(index, change):
    arguments, switches = random_arguments("data_dependent", key_tokens=4, masks=True)
    arguments = list(arguments)
    arguments[index] = change(arguments[index])
    return torch.ops.primal.attention(*arguments, **switches)


WITHOUT_MEMORY = DIFFERENTIABLE[:-1]  # log_scale: test_fading_memory.py
TENSORS = (*WITHOUT_MEMORY, "query_padding_mask", "key_padding_mask")
SHAPES = {  # B=2, Nq=3, Nk=4, D=6, H=2, d=3, s=2, n=4
    "key": [2, 4, 6],
    "q_weight": [6, 6],
    "q_bias": [6],
    "k_weight": [6, 6],
    "k_bias": [6],
    "wr": [2, 4, 2],
    "lam": [2, 2],
    "score_weight": [3, 4],
    "score_bias": [3],
    "out_weight": [6, 6],
    "out_bias": [6],
    "query_padding_mask": [2, 3],
    "key_padding_mask": [2, 4],
}


@pytest.mark.parametrize("name", SHAPES)
def test_wrong_shape_names_the_tensor_and_both_shapes(name):
    expected = SHAPES[name]
    wrong = [*expected[:-1], expected[-1] + 1]
    with refuses_shape(name, expected, wrong):
        changed_argument(TENSORS.index(name), lambda tensor: tensor.new_ones(wrong))


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "key"])
def test_wrong_number_of_dimensions_names_the_tensor_and_both_shapes(name):
    wrong = [1, *SHAPES[name]]
    with refuses_shape(name, SHAPES[name], wrong):
        changed_argument(TENSORS.index(name), lambda tensor: tensor[None])


@pytest.mark.parametrize(("name", "form"), [("query", "[B, N, D]"), ("key", "[B, N, D]"), ("we", "[H, rows, s]")])
def test_tensors_that_set_the_sizes_must_have_three_dimensions(name, form):
    with refuses(ValueError, f"primal_attention: {name} must be {form}, got "):
        changed_argument(TENSORS.index(name), lambda tensor: tensor[0])


@pytest.mark.parametrize("name", [name for name in WITHOUT_MEMORY if name != "query"])
def test_wrong_dtype_names_the_tensor_and_both_dtypes(name):
    with refuses(TypeError, f"primal_attention: {name} is Float but query is Double"):
        changed_argument(TENSORS.index(name), torch.Tensor.float)


@pytest.mark.parametrize("name", ["query_padding_mask", "key_padding_mask"])
def test_mask_must_be_bool(name):
    with refuses(TypeError, f"primal_attention: {name} must be bool (true = padded), got Float"):
        changed_argument(TENSORS.index(name), torch.Tensor.float)


@pytest.mark.parametrize("name", TENSORS[1:])
def test_wrong_device_names_the_tensor_and_both_devices(name):
    with refuses(ValueError, f"primal_attention: {name} is on meta but query is on cpu"):
        changed_argument(TENSORS.index(name), lambda tensor: tensor.to("meta"))


def test_layer_of_another_width():
    with refuses_shape("query", [2, 5, 12], [2, 5, 10]):
        make_layer()(random_tokens(2, 5, 10))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"causal": True}, "causal attention needs data-independent weights"),
        ({"sampling": "random"}, 'sampling must be exact, linspace or legacy, got "random"'),
    ],
    ids=str,
)
def test_operator_refuses_switches_that_do_not_fit(changes, message):
    arguments, switches = random_arguments("data_dependent")
    with refuses(ValueError, f"primal_attention: {message}"):
        torch.ops.primal.attention(*arguments, **switches | changes)


@pytest.mark.parametrize("feature_map", ["cosine", torch.tanh], ids=["named", "Python function"])
def test_causal_layer_refuses_a_key(feature_map):
    with refuses(ValueError, "causal attention takes one sequence, got a key as well"):
        make_layer(causal=True, feature_map=feature_map)(random_tokens(2, 5), random_tokens(2, 5))


def test_key_padding_needs_a_key():
    arguments, switches = random_arguments("data_dependent")
    with refuses(ValueError, "key_padding without a key; self-attention takes query_padding"):
        torch.ops.primal.attention(*arguments[:-2], torch.zeros(2, 3).bool(), **switches)
    with refuses(ValueError, "key_lengths without a key; self-attention takes lengths"):
        make_layer()(random_tokens(2, 5), key_lengths=torch.tensor([5, 5]))


@pytest.mark.parametrize("other", ["lengths", "query_padding_mask"])
def test_padding_is_given_once(other):
    mask = torch.zeros(2, 5).bool()
    padding = {"lengths": torch.tensor([5, 5]), "query_padding_mask": mask}[other]
    with refuses(ValueError, f"PrimalAttention: key_padding_mask and {other} say the same; give one of them"):
        make_layer()(random_tokens(2, 5), key_padding_mask=mask, **{other: padding})


@pytest.mark.parametrize("lengths", [torch.tensor([5.0, 5.0]), torch.tensor([True, False]), torch.tensor([[5, 5]])])
def test_lengths_are_a_row_of_integers(lengths):
    with refuses(ValueError, f"lengths must be integers [B], got {lengths.dtype} {list(lengths.shape)}"):
        make_layer()(random_tokens(2, 5), lengths=lengths)


@pytest.mark.parametrize(("length", "message"), [(6, "6 is above the 5 tokens"), (-1, "-1 is negative")])
def test_lengths_lie_within_the_sequence(length, message):
    with refuses(ValueError, f"padding_mask: lengths: {message}"):
        padding_mask(torch.tensor([5, length]), 5)


def encoder_layer():
    return EncoderLayer(12, 3, 4, 5, feed_forward=8)


LAYERS = {"PrimalAttention": lambda: make_layer(dtype=torch.float32), "EncoderLayer": encoder_layer}
MASK_NAMES = [
    ("PrimalAttention", "key_padding_mask"),
    ("PrimalAttention", "query_padding_mask"),
    ("EncoderLayer", "key_padding_mask"),
    ("EncoderLayer", "padding"),
    ("EncoderLayer", "unread"),
]


@pytest.mark.parametrize(("owner", "name"), MASK_NAMES)
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.zeros(2, 6).bool(), "must be [B, N] = [2, 5], got [2, 6]"),
        (torch.zeros(5).bool(), "must be [B, N] = [2, 5], got [5]"),
        (torch.zeros(2, 5), "must be bool (True = padded), got torch.float32"),
        ([[False] * 5] * 2, "must be a bool tensor, got list"),
    ],
    ids=["size", "dimensions", "dtype", "list"],
)
def test_mask_is_refused_by_the_name_it_came_under(owner, name, mask, message):
    with refuses((TypeError, ValueError), f"{owner}: {name} {message}"):
        LAYERS[owner]()(random_tokens(2, 5, dtype=torch.float32), **{name: mask})


def test_step_names_its_own_arguments():
    layer = make_layer(causal=True)
    with refuses(ValueError, "PrimalAttention: key_padding_mask must be [B, N] = [2, 1], got [2, 2]"):
        layer.step(random_tokens(2, 1), layer.initial_state(2), key_padding_mask=torch.zeros(2, 2).bool())
    with refuses(TypeError, "PrimalAttention: tokens must be a tensor, got list"):
        layer.step([1.0], layer.initial_state(2))


@pytest.mark.parametrize("implementation", ["auto", "plain"])
@pytest.mark.parametrize("kind", [PrimalAttention, EncoderLayer])
def test_step_takes_a_state_or_its_three_tensors(kind, implementation):
    options = {"feed_forward": 8} if kind is EncoderLayer else {}
    layer = kind(12, 3, 4, causal=True, implementation=implementation, **options)
    x, state = random_tokens(2, 1, dtype=torch.float32), layer.initial_state(2)
    assert torch.equal(layer.step(x, tuple(state))[0], layer.step(x, state)[0])
    for wrong in (None, state[:2], (1, 2, 3), state.q_sum):
        got = type(wrong).__name__
        with refuses(TypeError, f"PrimalAttention: state must be a State of three tensors, got {got}"):
            layer.step(x, wrong)


@pytest.mark.parametrize("owner", LAYERS)
def test_no_series_have_no_lengths(owner):
    out, _ = LAYERS[owner]()(torch.zeros(0, 5, 12), lengths=[])
    assert out.shape == (0, 5, 12)


@pytest.mark.parametrize(("owner", "name"), [("PrimalAttention", "query"), ("EncoderLayer", "x")])
def test_tokens_that_are_none(owner, name):
    layer, x = LAYERS[owner](), random_tokens(2, 5, dtype=torch.float32)
    with refuses(TypeError, f"{owner}: {name} must be a tensor, got numpy.ndarray"):
        layer(x.numpy())
    with refuses(ValueError, f"{owner}: {name} must be [B, N, D], got [5, 12]"):
        layer(x[0], lengths=[5])
    with refuses(TypeError, f"{owner}: {name} is a nested tensor"):
        layer(torch.nested.as_nested_tensor([x[0], x[1, :3]]))


@pytest.mark.parametrize("owner", LAYERS)
def test_lengths_may_be_a_list(owner):
    layer, x = LAYERS[owner](), random_tokens(2, 5, dtype=torch.float32)
    assert torch.equal(layer(x, lengths=[5, 3])[0], layer(x, lengths=torch.tensor([5, 3]))[0])
    for lengths, message in (
        ([5], "must be [B] = [2], got [1]"),
        ([5, 6], ": 6 is above the 5 tokens"),
        ([5.0, 3.0], "must be integers [B], got torch.float32 [2]"),
        ("ab", "must be integers [B], got str"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^{owner}: lengths ?{re.escape(message)}$"):
            layer(x, lengths=lengths)


def test_encoder_layer_takes_its_mask_under_both_names():
    layer, x, mask = encoder_layer(), random_tokens(2, 5, dtype=torch.float32), padding_mask([5, 3], 5)
    expected = layer(x, mask)[0]
    assert torch.equal(layer(x, key_padding_mask=mask)[0], expected)
    assert torch.equal(layer(x, padding=mask)[0], expected)
    with refuses(ValueError, "EncoderLayer: key_padding_mask and padding say the same; give one of them"):
        layer(x, mask, padding=mask)


def test_ksvd_loss_refuses_no_layer_and_an_unknown_reduction():
    with refuses(ValueError, "ksvd_loss: no layer given"):
        ksvd_loss([], eta=0.1)
    for wrong in ([torch.zeros(2)], torch.zeros(2), (torch.zeros(2),) * 3):
        with refuses(TypeError, "ksvd_loss: layers must be KsvdTerms, one or several, got Tensor"):
            ksvd_loss(wrong, eta=0.1)
    with refuses(TypeError, "ksvd_loss: layers must be KsvdTerms, one or several, got NoneType"):
        ksvd_loss(None, eta=0.1)
    _, terms = make_layer()(random_tokens(2, 5))
    with refuses(ValueError, "reduction must be per_sample, batch_mean or none, got 'sum'"):
        ksvd_loss(terms, eta=0.1, reduction="sum")

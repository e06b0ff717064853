"""Any number of threads and any size, also none and one; heads are independent of each other."""

import pytest
import torch
from attention_cases import MODES, TOLERANCE, assert_near, make_layer, oracle, random_tokens, run

every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_result_does_not_depend_on_the_number_of_threads(mode, dtype, set_threads):
    layer = make_layer(64, 4, 6, 30, dtype=dtype, **MODES[mode])
    x, lengths = random_tokens(4, 500, 64, dtype), torch.tensor([500, 499, 250, 1])
    results = []
    for threads in (1, 2):
        set_threads(threads)
        assert torch.get_num_threads() == threads
        results.append(run(layer, x, lengths=lengths))
    assert_near(*results, TOLERANCE[dtype])


def with_permuted_heads(layer, order):
    """The layer whose head i is head order[i] of the given one, and the same permutation of the channels."""
    head_dim = layer.embed_dim // layer.num_heads
    channels = torch.cat([torch.arange(h * head_dim, (h + 1) * head_dim) for h in order])
    state = layer.state_dict()
    for name in ("q_proj", "k_proj"):
        state[f"{name}.weight"] = state[f"{name}.weight"][channels][:, channels]
        state[f"{name}.bias"] = state[f"{name}.bias"][channels]
    state["out_proj.weight"] = state["out_proj.weight"][:, channels]
    for name in {"we", "wr", "lam", "log_scale"} & state.keys():
        state[name] = state[name][order]
    other = make_layer(causal=layer.causal, data_dependent=layer.data_dependent, memory=layer.memory)
    other.load_state_dict(state)
    return other, channels


@every_mode
def test_permuting_the_heads_permutes_the_scores_and_nothing_else(mode):
    layer, x, order = make_layer(**MODES[mode]), random_tokens(2, 7), [2, 0, 1]
    other, channels = with_permuted_heads(layer, order)
    scores, permuted = layer.scores(x), other.scores(x[..., channels])
    assert_near(permuted.e, scores.e[:, order], 1e-12)
    assert_near(permuted.r, scores.r[:, order], 1e-12)
    (out, terms), (other_out, other_terms) = layer(x), other(x[..., channels])
    assert_near((other_out, *other_terms), (out, *terms), 1e-12)


@every_mode
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("batch", "tokens"), [(2, 0), (0, 5), (0, 0)])
def test_nothing_in_gives_nothing_out(mode, masked, batch, tokens):
    layer, x = make_layer(**MODES[mode]), random_tokens(batch, tokens)
    masks = {"lengths": torch.zeros(batch, dtype=torch.int64)} if masked else {}
    values = run(layer, x, **masks)
    assert values["out"].shape == x.shape
    assert torch.all(values["le"] == 0)
    assert torch.all(values["lr"] == 0)
    assert values["tr"].shape == (batch,)
    assert all(torch.isfinite(value).all() for value in values.values())
    assert torch.all(values["grad.q_proj.weight"] == 0)


SIZES = {  # width, heads, rank, rows, tokens
    "one token": (12, 3, 4, 5, 1),
    "more rows than tokens": (12, 3, 4, 50, 7),
    "one row": (12, 3, 4, 1, 7),
    "rank above width": (12, 3, 9, 5, 7),
    "odd widths": (21, 3, 5, 3, 7),
    "heads of width 1": (3, 3, 2, 4, 7),
    "one head": (5, 1, 3, 4, 7),
    "wider than a tile of channels": (300, 3, 2, 4, 7),
}


@every_mode
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_unusual_sizes_equal_the_oracle(mode, sizes):
    width, heads, rank, rows, tokens = sizes
    layer, x = make_layer(width, heads, rank, rows, **MODES[mode]), random_tokens(2, tokens, width)
    expected = oracle(layer, x)
    out, terms = layer(x)
    assert_near((out, *terms), (expected.out, expected.le, expected.lr, expected.tr), 1e-12)


def test_one_token_is_taken_for_every_row():
    layer, x = make_layer(rows=6), random_tokens(2, 1)
    per_head = x.view(2, 3, 4, 1)
    assert_near(layer.scores(x).we_x, per_head * layer.we.detach().sum(1, keepdim=True), 1e-12)

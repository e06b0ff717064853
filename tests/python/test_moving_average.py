"""primal.moving_average: the operator and its plain version against the formula, closed forms and each other."""

import itertools
import random

import pytest
import torch
from average_cases import BOTH, PADDINGS, Arguments, arguments, assert_equal, assert_near, loop, off

import primal

both = pytest.mark.parametrize("implementation", BOTH)
directions = pytest.mark.parametrize("directions", [1, 2])
LENGTHS = (0, 1, 7, 8, 9, 63, 64, 65, 200)  # around a block of 8 rows and a chunk of 64
INFINITY = float("inf")


def divisors(width):
    """Groups: each channel its own, some share, all share one."""
    return (width, next((width // n for n in (2, 3, 7) if width % n == 0), width), 1)


def constant_arguments(log_scale, tokens=40, width=3):
    """One token of ones after another, one scale, no skip."""
    scale = torch.full((1, 1, 1), log_scale, dtype=torch.float64)
    ones = torch.ones(1, tokens, width, dtype=torch.float64)
    return Arguments(ones, scale, torch.full((1, 1, width), 2.0, dtype=torch.float64))


# --- against the loop ---


@pytest.mark.parametrize("width", [1, 7, 16, 33, 260, 513])  # vectors and their rest; 256 channels make a piece
@pytest.mark.parametrize("scales", [0, 1, 3, 4, 5, 9])  # the kernel takes them by fours
@directions
def test_is_the_formula(directions, scales, width, set_threads):
    one_of = random.Random(f"{directions} {scales} {width}").choice
    for tokens in LENGTHS:
        padding, groups = one_of(PADDINGS), one_of(divisors(width))
        skip, state = one_of((True, False)), one_of((True, False))
        a = arguments(2, tokens, width, directions, scales, groups, skip, padding, state)
        expected = loop(a)
        for threads in (1, 3):  # in one pass, and chunk by chunk
            set_threads(threads)
            assert_near(a.run(), expected, 1e-13)
        assert_near(a.run("plain"), expected, 1e-13)
        out, after = a.run()
        assert after.dtype == torch.float64
        assert out.is_contiguous()


@directions
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("state", [False, True])
def test_is_the_formula_with_every_argument(directions, padding, skip, state):
    for tokens in LENGTHS:
        a = arguments(3, tokens, 12, directions, 4, 3, skip, padding, state)
        for implementation in BOTH:
            assert_near(a.run(implementation), loop(a), 1e-13)


@both
@directions
def test_nothing_to_do(implementation, directions):
    for batch, tokens, width in ((0, 5, 4), (2, 0, 4), (0, 0, 4), (2, 5, 0), (0, 0, 0)):
        for padding, state in itertools.product((None, "holes"), (False, True)):
            a = arguments(batch, tokens, width, directions, 3, width, padding=padding, state=state)
            out, after = a.run(implementation)
            assert out.shape == a.x.shape
            assert after.shape == (batch, 3 if directions == 1 else 0, width)
            assert torch.equal(after, torch.zeros_like(after) if a.state is None else a.state)


# --- closed forms ---


@both
@pytest.mark.parametrize("log_scale", [-1.0, 0.0, 3.0, 8.0])
def test_constant_input_is_a_geometric_sum(implementation, log_scale):
    a = constant_arguments(log_scale)
    decay = torch.tensor(-log_scale).double().exp().neg().exp()
    count = torch.arange(1, 41)[:, None]
    expected = 2 * (1 - decay**count) / (1 - decay)
    assert off(a.run(implementation)[0][0], expected.expand(40, 3)) < 1e-12


@both
@pytest.mark.parametrize("log_scale", [-1.0, 0.0, 3.0, 8.0])
def test_single_impulse_fades_as_powers(implementation, log_scale):
    a = constant_arguments(log_scale)
    a.x[:, 1:] = 0
    faded = (-torch.arange(40.0, dtype=torch.float64) * torch.tensor(-log_scale).double().exp()).exp()
    out, after = a.run(implementation)
    assert off(out[0], 2 * faded[:, None].expand(40, 3)) < 1e-13
    assert off(after[0, 0], faded[-1].expand(3)) < 1e-13


@both
@directions
@pytest.mark.parametrize("padding", PADDINGS)
def test_shortest_scale_remembers_nothing(implementation, directions, padding):
    a = arguments(2, 70, 5, directions, padding=padding, state=True)
    a.log_scale.fill_(-INFINITY)
    counted = 1 if a.padding is None else (~a.padding)[..., None]
    out, after = a.run(implementation)
    expected = (a.weight.sum((0, 1)) + a.skip) * a.x * counted
    assert off(out, expected) < 1e-14
    if directions == 1 and padding == "all":
        assert torch.equal(after, a.state)  # no token came after it
    elif directions == 1 and padding in (None, "left"):
        assert torch.equal(after, a.x[:, -1:].expand(-1, 3, -1))


@both
@pytest.mark.parametrize("padding", PADDINGS)
def test_longest_scale_is_a_running_sum(implementation, padding):
    a = arguments(2, 70, 5, 2, 1, padding=padding)
    a.log_scale.fill_(INFINITY)
    counted = torch.ones(2, 70, 1) if a.padding is None else (~a.padding)[..., None]
    x = a.x * counted
    sums = a.weight[0] * x.cumsum(1) + a.weight[1] * x.flip(1).cumsum(1).flip(1) + a.skip * x
    assert off(a.run(implementation)[0], sums * counted) < 1e-13


@both
def test_a_scale_close_to_the_longest_is_close_to_a_running_sum(implementation):
    a = arguments(2, 70, 5, 1, 1, skip=False)
    a.log_scale.fill_(30.0)
    assert off(a.run(implementation)[0], a.weight[0] * a.x.cumsum(1)) < 1e-10


@both
@directions
def test_one_token(implementation, directions):
    a = arguments(2, 1, 5, directions)
    assert off(a.run(implementation)[0], (a.weight.sum((0, 1)) + a.skip) * a.x) < 1e-14


# --- symmetries ---


@both
@directions
def test_channels_permuted(implementation, directions):
    a = arguments(2, 70, 33, directions, state=True, padding="holes")
    order = torch.randperm(33)
    moved = {n: t if n == "padding" else t[..., order] for n, t in a.tensors().items()}
    out, after = a.run(implementation)
    assert_near(a.run(implementation, **moved), (out[..., order], after[..., order]), 1e-15)


@both
@pytest.mark.parametrize("padding", PADDINGS)
def test_time_reversed_swaps_the_directions(implementation, padding):
    a = arguments(3, 70, 5, 2, padding=padding)
    swapped = {"x": a.x.flip(1), "log_scale": a.log_scale.flip(0), "weight": a.weight.flip(0)}
    if a.padding is not None:
        swapped["padding"] = a.padding.flip(1)
    assert off(a.run(implementation, **swapped)[0].flip(1), a.run(implementation)[0]) < 1e-14


@both
@pytest.mark.parametrize("padding", [None, "holes"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-6)])
def test_state_cut_at_every_place(implementation, padding, dtype, tolerance):
    a = arguments(2, 70, 5, padding=padding, state=True).to(dtype)
    whole, after = a.run(implementation)
    for cut in range(71):
        first, between = a.run(implementation, **part(a, slice(None, cut)))
        second, last = a.run(implementation, **part(a, slice(cut, None)), state=between)
        assert_near((torch.cat([first, second], 1), last), (whole, after), tolerance)


def part(a, tokens):
    return {"x": a.x[:, tokens]} | ({} if a.padding is None else {"padding": a.padding[:, tokens]})


@both
def test_many_single_steps_do_not_drift(implementation):
    a = arguments(1, 2000, 2, scales=2).to(torch.float32)
    a = a._replace(log_scale=torch.tensor([[[8.0], [INFINITY]]]), x=a.x + 1)
    state, steps = None, []
    for t in range(2000):
        out, state = a.run(implementation, x=a.x[:, t : t + 1], state=state)
        steps.append(out)
    expected = loop(a.to(torch.float64))
    assert_near((torch.cat(steps, 1), state), expected, 3e-7)


# --- padding ---


@both
@directions
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_what_stands_in_padded_tokens_never_matters(implementation, directions, dtype):
    a = arguments(3, 70, 9, directions, state=True, padding="holes").to(dtype)
    dirty = a.x.masked_fill(a.padding[..., None], float("nan"))
    assert_equal(a.run(implementation, x=dirty), a.run(implementation))
    assert not a.run(implementation)[0][a.padding].any()


@both
@directions
def test_padding_further_changes_nothing(implementation, directions):
    a = arguments(2, 67, 9, directions, state=True).to(torch.float32)
    out, after = a.run(implementation)
    for left, right in ((0, 1), (1, 0), (3, 64), (64, 0), (61, 70)):
        x = torch.nn.functional.pad(a.x, (0, 0, left, right), value=5.0)
        padding = torch.ones(2, x.shape[1], dtype=torch.bool)
        padding[:, left : left + 67] = False
        longer, longer_after = a.run(implementation, x=x, padding=padding)
        assert_near((longer[:, left : left + 67], longer_after), (out, after), 1e-6)
        assert not longer[padding].any()


@both
@directions
def test_holes_are_as_if_the_tokens_were_not_there(implementation, directions):
    a = arguments(1, 90, 9, directions, state=True, padding="holes")
    kept = ~a.padding[0]
    out, after = a.run(implementation)
    assert_near((out[:, kept], after), a.run(implementation, x=a.x[:, kept], padding=None), 1e-13)


def test_padding_of_no_token_is_no_padding():
    a = arguments(2, 70, 9, 2)
    assert_equal(a.run(padding=torch.zeros(2, 70, dtype=torch.bool)), a.run())


# --- how the arguments come ---


@both
@directions
def test_any_layout_of_the_arguments_will_do(implementation, directions):
    a = arguments(3, 70, 9, directions, scales=3, state=True, padding="holes")
    odd = {}
    for name, tensor in a.tensors().items():
        odd[name] = torch.stack([tensor, tensor], -1)[..., 0].transpose(0, -1).contiguous().transpose(0, -1)
    assert not odd["x"].is_contiguous()
    assert_equal(a.run(implementation, **odd), a.run(implementation))
    expanded = {"x": a.x[:1].expand(3, -1, -1), "log_scale": a.log_scale[..., :1].expand(-1, -1, 9)}
    dense = {name: tensor.contiguous() for name, tensor in expanded.items()}
    assert_equal(a.run(implementation, **expanded), a.run(implementation, **dense))


@both
def test_arguments_are_left_alone(implementation):
    a = arguments(2, 70, 9, state=True, padding="right")
    before = [tensor.clone() for tensor in a]
    out, after = a.run(implementation)
    assert_equal(a, before)
    out.zero_()
    after.zero_()
    assert_equal(a, before)


@both
def test_state_of_no_token_is_a_copy(implementation):
    a = arguments(2, 0, 9, state=True)
    a.run(implementation)[1].zero_()
    assert a.state.abs().sum() > 0


@directions
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_number_of_threads_does_not_matter(directions, batch, dtype, set_threads):
    a = arguments(batch, 300, 270, directions, 5, padding="holes", state=True).to(dtype)
    results = []
    for threads in (1, 2, 3):
        set_threads(threads)
        results.append(a.run())
    assert_equal(results[1], results[0])
    assert_equal(results[2], results[0])


def test_is_what_the_operator_gives():
    a = arguments(state=True, padding="holes")
    assert_equal(a.run(), torch.ops.primal.moving_average(*a))
    assert_equal(a.run("plain"), primal.reference.moving_average(*a))


def test_tensors_that_share_their_memory_until_written():
    x, threads = torch.randn(8, 200, 64), torch.get_num_threads()
    expected, _ = torch.ops.primal.moving_average(x.clone(), torch.zeros(1, 1, 64), torch.ones(1, 1, 64))
    torch.set_num_threads(2)
    try:
        lazy, _ = torch.ops.primal.moving_average(torch._lazy_clone(x), torch.zeros(1, 1, 64), torch.ones(1, 1, 64))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(lazy, expected)


def test_gradients_of_other_sizes_are_refused():
    given = (torch.randn(2, 6, 4), torch.zeros(1, 1, 4), torch.ones(1, 1, 4))
    with pytest.raises(ValueError, match=r"grad_out must be \[2, 6, 4\], as x, got \[1, 1, 1\]"):
        torch.ops.primal.moving_average_backward(torch.ones(1, 1, 1), None, *given)
    with pytest.raises(ValueError, match="grad_state must be float64"):
        torch.ops.primal.moving_average_backward(given[0], torch.ones(2, 1, 4), *given)

"""primal.moving_average in float32 and bfloat16, and over 100,000 tokens, against float64."""

import pytest
import torch
from average_cases import BOTH, Arguments, arguments, assert_near, gradients, loop, off

both = pytest.mark.parametrize("implementation", BOTH)
directions = pytest.mark.parametrize("directions", [1, 2])
LONG = 100_000
# Within a chunk of 64 tokens float32 rounds each sum, and a once for all. Between chunks nothing is lost.
CHUNK = 64 * (2**-24 + 2**-25)
TIME_SCALES = (1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, float("inf"))


def rounded(a, dtype):
    """The same numbers in that dtype and in float64."""
    small = a.to(dtype)
    return small, small.to(torch.float64)


@both
@directions
def test_float32(implementation, directions):
    for padding in (None, "holes"):
        small, exact = rounded(arguments(2, 300, 33, directions, 4, padding=padding, state=True), torch.float32)
        out, after = small.run(implementation)
        assert (out.dtype, after.dtype) == (torch.float32, torch.float64)
        assert_near((out, after), loop(exact), 1e-6)
        expected = gradients(exact, "loop")
        for name, found in gradients(small, implementation).items():
            assert found.dtype == small._asdict()[name].dtype
            assert off(found, expected[name]) < 2e-6, name


@both
@directions
@pytest.mark.parametrize("coefficients", [torch.bfloat16, torch.float32], ids=str)
def test_bfloat16_is_summed_in_float32(implementation, directions, coefficients):
    a = arguments(2, 300, 33, directions, 4, padding="holes", state=True).to(torch.bfloat16)
    kept = {name: a._asdict()[name].to(coefficients) for name in ("log_scale", "weight", "skip")}
    a = a._replace(**kept)
    exact = a.to(torch.float64)
    out, after = a.run(implementation)
    assert (out.dtype, after.dtype) == (torch.bfloat16, torch.float64)
    # The output is rounded once; what is summed in float32 is not rounded to bfloat16 in between.
    torch.testing.assert_close(out.double(), loop(exact)[0], rtol=2**-8, atol=1e-5)
    assert off(after, loop(exact)[1]) < 1e-6
    expected = gradients(exact, "loop", bfloat16_roots(exact))
    for name, found in gradients(a, implementation, bfloat16_roots(exact)).items():
        assert found.dtype == a._asdict()[name].dtype
        assert off(found, expected[name]) < (1e-5 if found.dtype != torch.bfloat16 else 2**-8), name


def bfloat16_roots(a):
    """Gradients that bfloat16 holds exactly."""
    generator = torch.Generator().manual_seed(2)
    after = (a.x.shape[0], a.log_scale.shape[1] if a.log_scale.shape[0] == 1 else 0, a.x.shape[2])
    return [torch.randn(s, generator=generator).bfloat16().double() for s in (a.x.shape, after)]


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_autocast_rounds_no_time_scale(implementation, dtype):
    a = arguments(2, 70, 9, 2, padding="holes").to(torch.float32)
    if dtype == torch.float64:
        a = a.to(dtype)
    a = a._replace(x=a.x.to(dtype))
    expected = a.run(implementation)[0]
    with torch.autocast("cpu", torch.bfloat16):
        out = a.run(implementation)[0]
        leaf = a.x.clone().requires_grad_()
        inside = a.run(implementation, x=leaf)[0].sum()
    assert out.dtype == dtype
    assert torch.equal(out, expected)
    inside.backward()
    outside = a.x.clone().requires_grad_()
    a.run(implementation, x=outside)[0].sum().backward()
    assert torch.equal(leaf.grad, outside.grad)


def test_autocast_widens_coefficients():
    a = arguments(2, 70, 9).to(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = a.run(x=a.x.float())[0]
    assert mixed.dtype == torch.float32
    assert torch.equal(mixed, a.to(torch.float32).run()[0])


# --- 100,000 tokens ---


def long_arguments(x, directions=1):
    """Channel i has time scale i alone. x: [1, N, S]"""
    width = len(TIME_SCALES)
    log_scale = torch.tensor(TIME_SCALES).log().expand(directions, 1, width)
    return Arguments(x, log_scale.contiguous(), torch.ones(directions, 1, width))


def long_tokens(kind):
    width = len(TIME_SCALES)
    return torch.full((1, LONG, width), 0.1) if kind == "constant" else torch.randn(1, LONG, width) + 0.5


def roots(kind, directions):
    width, generator = len(TIME_SCALES), torch.Generator().manual_seed(3)
    root = torch.ones(1, LONG, width) if kind == "constant" else torch.rand(1, LONG, width, generator=generator)
    return [root, torch.ones(1, 1 if directions == 1 else 0, width)]


@pytest.mark.parametrize("kind", ["constant", "random"])
@directions
def test_100000_tokens(kind, directions, set_threads):
    small, exact = rounded(long_arguments(long_tokens(kind), directions), torch.float32)
    expected, expected_state = exact.run()
    for threads in (1, 2):
        set_threads(threads)
        out, state = small.run()
        for i, tau in enumerate(TIME_SCALES):
            assert off(out[..., i], expected[..., i]) < CHUNK, tau
            assert off(state[..., i], expected_state[..., i]) < 2e-6, tau
        found = gradients(small, roots=roots(kind, directions))
        slopes = gradients(exact, roots=roots(kind, directions))
        for i, tau in enumerate(TIME_SCALES):
            for name in ("x", "weight", "log_scale"):
                assert off(found[name][..., i], slopes[name][..., i]) < CHUNK, (tau, name)


@directions
def test_100000_tokens_in_float64_are_those_of_the_plain_version(directions):
    """Which adds them up in another order, with no chunks."""
    a = long_arguments(long_tokens("random"), directions).to(torch.float64)
    assert_near(a.run(), a.run("plain"), 1e-12)
    found, expected = gradients(a), gradients(a, "plain")
    for name in expected:
        assert off(found[name], expected[name]) < 1e-11, name


@both
def test_a_sum_of_100000_equal_tokens_does_not_drift(implementation):
    """A float32 sum, token by token, would be off by 1e-4."""
    a = Arguments(torch.full((1, LONG, 3), 0.1), torch.full((1, 1, 1), float("inf")), torch.ones(1, 1, 3))
    exact = a.x[0, 0, 0].double().item() * torch.arange(1, LONG + 1, dtype=torch.float64)
    assert off(a.run(implementation)[0][0, :, 0], exact) < CHUNK


@both
def test_more_than_a_million_tokens(implementation):
    tokens = 2**20 + 5
    a = Arguments(torch.ones(1, tokens, 1), torch.full((1, 1, 1), float("inf")), torch.ones(1, 1, 1))
    assert off(a.run(implementation)[0][0, :, 0], torch.arange(1, tokens + 1)) < CHUNK

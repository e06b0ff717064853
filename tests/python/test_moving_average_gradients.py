"""Gradients of primal.moving_average: against the loop, finite differences and each other; what has none says so."""

import random

import pytest
import torch
from average_cases import BOTH, PADDINGS, arguments, assert_equal, gradients, loop, off, roots_of
from torch import func
from torch.autograd import forward_ad, gradcheck, gradgradcheck

both = pytest.mark.parametrize("implementation", BOTH)
directions = pytest.mark.parametrize("directions", [1, 2])
INFINITY = float("inf")
PLAIN = r'; use implementation="plain"$'
refused = pytest.raises((NotImplementedError, RuntimeError), match=r"^primal::\w+ has no .*" + PLAIN)


def assert_same_gradients(found, expected, tolerance):
    assert found.keys() == expected.keys()
    for name in expected:
        assert off(found[name], expected[name]) <= tolerance, (name, off(found[name], expected[name]))


# --- against the loop ---


@pytest.mark.parametrize("width", [1, 7, 16, 33, 260, 513])
@pytest.mark.parametrize("scales", [0, 1, 3, 4, 5, 9])
@directions
def test_are_those_of_the_formula(directions, scales, width, set_threads):
    one_of = random.Random(f"{directions} {scales} {width}").choice
    for tokens in (1, 7, 8, 9, 63, 64, 65, 130):
        groups = one_of([n for n in (1, 2, 3, 7, width) if width % n == 0])
        skip, state = one_of((True, False)), one_of((True, False))
        a = arguments(2, tokens, width, directions, scales, groups, skip, one_of(PADDINGS), state)
        expected = gradients(a, "loop")
        for threads in (1, 3):
            set_threads(threads)
            assert_same_gradients(gradients(a), expected, 1e-12)
        assert_same_gradients(gradients(a, "plain"), expected, 1e-12)


@directions
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("state", [False, True])
def test_are_those_of_the_formula_with_every_argument(directions, padding, skip, state):
    for tokens in (0, 1, 65):
        a = arguments(3, tokens, 12, directions, 4, 3, skip, padding, state)
        for implementation in BOTH:
            assert_same_gradients(gradients(a, implementation), gradients(a, "loop"), 1e-12)


@both
@directions
@pytest.mark.parametrize("padding", [None, "holes"])
def test_gradcheck(implementation, directions, padding):
    a, leaves = arguments(2, 9, 4, directions, 3, 2, padding=padding, state=True).leaves()

    def function(*tensors):
        out, after = a.run(implementation, **dict(zip(leaves, tensors, strict=True)))
        return (out, after) if directions == 1 else out

    gradcheck(function, tuple(leaves.values()))


@both
@pytest.mark.parametrize("scale", [-2.0, 0.0, 2.0, 6.0])
def test_time_scales_by_finite_differences(implementation, scale):
    a = arguments(2, 150, 6, 2, 2, 3, padding="holes")
    a.log_scale.fill_(scale)
    root = roots_of(a)[0]
    found = gradients(a, implementation)["log_scale"]
    step = 1e-5
    for index in range(a.log_scale.numel()):
        moved = torch.zeros(a.log_scale.numel(), dtype=torch.float64)
        moved[index] = step
        above, below = (
            (loop(a._replace(log_scale=a.log_scale + sign * moved.view_as(a.log_scale)))[0] * root).sum()
            for sign in (1, -1)
        )
        torch.testing.assert_close(found.view(-1)[index], (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


@both
@directions
@pytest.mark.parametrize("scale", [-INFINITY, INFINITY])
def test_scales_without_end_have_no_slope(implementation, directions, scale):
    a = arguments(2, 70, 5, directions, padding="holes", state=True)
    near = a._replace(log_scale=a.log_scale.clone())
    a.log_scale[:, 1:] = scale
    near.log_scale[:, 1:] = -4.0 if scale < 0 else 40.0
    found, expected = gradients(a, implementation), gradients(near, "loop")
    assert not found["log_scale"][:, 1:].any()
    assert_same_gradients(found, expected, 1e-10)


@both
def test_a_scale_that_is_no_number_shows(implementation):
    a = arguments(1, 9, 4)
    a.log_scale[0, 0, 0] = float("nan")
    assert a.run(implementation)[0][:, 1:, 0].isnan().all()
    found = gradients(a, implementation)
    assert found["log_scale"][0, 0, 0].isnan()
    assert found["x"][..., 1:].isfinite().all()


# --- one output, some arguments ---


@both
@pytest.mark.parametrize("tokens", [0, 5, 70])
def test_of_one_output_alone(implementation, tokens):
    a = arguments(2, tokens, 5, state=True)
    whole = roots_of(a)
    for kept in (0, 1):
        roots = [root if i == kept else torch.zeros_like(root) for i, root in enumerate(whole)]
        fresh, leaves = a.leaves()
        output = fresh.run(implementation)[kept]
        found = torch.autograd.grad(
            output, list(leaves.values()), roots[kept], allow_unused=True, materialize_grads=True
        )
        expected = gradients(a, "loop", roots)
        assert_same_gradients(dict(zip(leaves, found, strict=True)), expected, 1e-12)


@both
@pytest.mark.parametrize("asked", ["x", "log_scale", "weight", "skip", "state"])
def test_of_one_argument_alone(implementation, asked):
    a = arguments(2, 70, 5, padding="holes", state=True)
    leaf = a._asdict()[asked].clone().requires_grad_()
    out, after = a.run(implementation, **{asked: leaf})
    total = sum((value * root).sum() for value, root in zip((out, after), roots_of(a), strict=True))
    (found,) = torch.autograd.grad(total, leaf)
    assert off(found, gradients(a)[asked]) < 1e-13


@both
def test_through_a_chain_of_states(implementation):
    """Truncated nowhere: the gradient of the first tokens comes through the states of all parts."""
    a = arguments(2, 90, 5)
    fresh, leaves = a.leaves()
    state, parts = None, []
    for tokens in fresh.x.split([1, 20, 69], 1):
        out, state = fresh.run(implementation, x=tokens, state=state)
        parts.append(out)
    outputs = (torch.cat(parts, 1), state)
    total = sum((value * root).sum() for value, root in zip(outputs, roots_of(a), strict=True))
    found = torch.autograd.grad(total, list(leaves.values()))
    assert_same_gradients(dict(zip(leaves, found, strict=True)), gradients(a, "loop"), 1e-12)


# --- padding, threads, layout ---


@both
@directions
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_what_stands_in_padded_tokens_never_matters(implementation, directions, dtype):
    a = arguments(3, 70, 9, directions, padding="holes", state=True).to(dtype)
    roots = roots_of(a)
    clean = gradients(a, implementation, roots)
    dirty = a.x.masked_fill(a.padding[..., None], float("nan"))
    dirty_roots = [roots[0].masked_fill(a.padding[..., None], float("nan")), roots[1]]
    fresh, leaves = a._replace(x=dirty).leaves()
    outputs = [output for output in fresh.run(implementation) if output.numel() > 0]
    roots = [root.to(output.dtype) for root, output in zip(dirty_roots, outputs, strict=False)]
    found = torch.autograd.grad(outputs, list(leaves.values()), roots, allow_unused=True, materialize_grads=True)
    assert_equal(found, clean.values())
    assert not found[0][a.padding].any()


@directions
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_number_of_threads_does_not_matter(directions, batch, dtype, set_threads):
    a = arguments(batch, 300, 270, directions, 5, 90, padding="holes", state=True).to(dtype)
    results = []
    for threads in (1, 2, 3):
        set_threads(threads)
        results.append(gradients(a))
    assert_equal(results[1].values(), results[0].values())
    assert_equal(results[2].values(), results[0].values())


def test_gradients_of_any_layout_will_do():
    a = arguments(3, 70, 9, state=True)
    fresh, leaves = a.leaves()
    roots = [root.transpose(0, 2).contiguous().transpose(0, 2) for root in roots_of(a)]
    assert not roots[0].is_contiguous()
    outputs = fresh.run()
    found = torch.autograd.grad(outputs, list(leaves.values()), roots, retain_graph=True)
    assert_equal(found, torch.autograd.grad(outputs, list(leaves.values()), roots_of(a)))


def test_gradient_of_the_same_number_everywhere():
    """sum() gives a gradient that is one number, expanded."""
    a, leaves = arguments(2, 70, 9).leaves()
    a.run()[0].sum().backward()
    ones = [torch.ones(2, 70, 9, dtype=torch.float64), torch.zeros(2, 3, 9, dtype=torch.float64)]
    assert_same_gradients({n: leaf.grad for n, leaf in leaves.items()}, gradients(a, "loop", ones), 1e-12)


# --- what the operator does not have ---


def scalar(a, implementation):
    return lambda x: a.run(implementation, x=x)[0].square().sum()


def tangent(function, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def second_derivative(function, x):
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    return torch.autograd.grad(first.square().sum(), x)[0]


def batched_gradients(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x), x, torch.ones(2, dtype=x.dtype), is_grads_batched=True)[0]


ATTEMPTS = {
    "func.grad": lambda f, x: func.grad(f)(x),
    "func.vjp": lambda f, x: func.vjp(f, x)[1](torch.tensor(1.0, dtype=x.dtype))[0],
    "func.jacrev": lambda f, x: func.jacrev(f)(x),
    "func.jvp": lambda f, x: func.jvp(f, (x,), (torch.ones_like(x),))[1],
    "func.hessian": lambda f, x: func.hessian(f)(x),
    "forward mode": tangent,
    "vmap of grad": lambda f, x: func.vmap(func.grad(f))(torch.stack([x, x])),
    "second derivative": second_derivative,
    "is_grads_batched": batched_gradients,
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_is_refused_and_plain_has_it(attempt):
    a = arguments(2, 5, 3, padding="left", state=True)
    with refused:
        attempt(scalar(a, "auto"), a.x)
    assert attempt(scalar(a, "plain"), a.x).isfinite().all()


@directions
def test_plain_has_second_derivatives(directions):
    a, leaves = arguments(2, 5, 3, directions, 2, padding="holes", state=True).leaves()

    def function(*tensors):
        out, after = a.run("plain", **dict(zip(leaves, tensors, strict=True)))
        return out.square().sum() + after.square().sum()

    gradgradcheck(function, tuple(leaves.values()))


@pytest.mark.parametrize("scale", [-INFINITY, INFINITY])
def test_plain_has_second_derivatives_of_scales_without_end(scale):
    a = arguments(2, 5, 3, padding="holes", state=True)
    a.log_scale[:, 1:] = scale
    leaf = a.log_scale.clone().requires_grad_()
    (first,) = torch.autograd.grad(a.run("plain", log_scale=leaf)[0].square().sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), leaf)
    assert second[:, :1].all()
    assert not second[:, 1:].any()


@directions
def test_plain_has_forward_mode_that_agrees_with_reverse(directions):
    a, leaves = arguments(2, 9, 3, directions, padding="holes", state=True).leaves()
    point, move = tuple(t.detach() for t in leaves.values()), tuple(torch.randn_like(t) for t in leaves.values())

    def function(*tensors):
        return a.run("plain", **dict(zip(leaves, tensors, strict=True)))

    tangents = func.jvp(function, point, move)[1]
    forward = sum((t * root).sum() for t, root in zip(tangents, roots_of(a), strict=True))
    reverse = sum((g * v).sum() for g, v in zip(gradients(a).values(), move, strict=True))
    torch.testing.assert_close(forward, reverse)


@both
def test_vmap_equals_a_loop(implementation):
    a = arguments(2, 9, 3, padding="holes")
    xs = torch.randn(4, 2, 9, 3, dtype=torch.float64)
    found = func.vmap(lambda x: a.run(implementation, x=x)[0])(xs)
    assert off(found, torch.stack([a.run(x=x)[0] for x in xs])) < 1e-13

"""primal.linear_cross_entropy is F.cross_entropy of F.linear: values, gradients, graphs, memory, errors."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import func, nn
from torch.autograd import forward_ad, gradcheck
from torch.export import Dim
from torch.library import opcheck

import primal

BOTH = ("auto", "plain")
both = pytest.mark.parametrize("implementation", BOTH)
smoothings = pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])


def arguments(tokens=9, width=6, vocabulary=11, dtype=torch.float64, ignored=False):
    hidden, weight = torch.randn(tokens, width, dtype=dtype), torch.randn(vocabulary, width, dtype=dtype)
    targets = torch.randint(vocabulary, (tokens,))
    if ignored:
        targets[::3] = -100
    return hidden.requires_grad_(), weight.requires_grad_(), targets


def formula(hidden, weight, targets, *, ignore_index=-100, label_smoothing=0.0):
    logits = F.linear(hidden, weight)
    loss = F.cross_entropy(logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction="sum")
    return loss, F.cross_entropy(logits.detach(), targets, ignore_index=ignore_index, reduction="none")


def results(function, hidden, weight, targets, **options):
    """The values, and the gradients of 0.7 times the sum."""
    loss, nll = function(hidden, weight, targets, **options)
    assert not nll.requires_grad
    return [loss.detach(), nll, *torch.autograd.grad(0.7 * loss, (hidden, weight))]


def assert_near(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        torch.testing.assert_close(a, b.to(a.dtype), rtol=tolerance, atol=tolerance)


# --- against F.cross_entropy ---


@both
@smoothings
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("vocabulary", [1, 2, 37, 1001])
def test_is_the_formula(implementation, smoothing, ignored, vocabulary):
    for tokens in (0, 1, 9, 255, 256, 300, 513):
        a = arguments(tokens, 7, vocabulary, ignored=ignored)
        options = {"label_smoothing": smoothing}
        found = results(primal.linear_cross_entropy, *a, implementation=implementation, **options)
        assert_near(found, results(formula, *a, **options), 1e-12)


@smoothings
@pytest.mark.parametrize("vocabulary", [1, 37, 5003])
def test_float32(smoothing, vocabulary):
    for tokens in (1, 9, 300):
        hidden, weight, targets = arguments(tokens, 40, vocabulary, ignored=tokens > 1)
        single = [t.detach().float().requires_grad_() for t in (hidden, weight)]
        found = results(primal.linear_cross_entropy, *single, targets, label_smoothing=smoothing)
        assert all(t.dtype == torch.float32 for t in found)
        assert_near(found, results(formula, hidden, weight, targets, label_smoothing=smoothing), 3e-5)


def test_bfloat16_is_computed_in_float32():
    hidden, weight, targets = arguments(300, 40, 503, torch.bfloat16)
    found = results(primal.linear_cross_entropy, hidden, weight, targets)
    assert [t.dtype for t in found] == [torch.float32] * 2 + [torch.bfloat16] * 2
    wide = [t.detach().double().requires_grad_() for t in (hidden, weight)]
    expected = results(formula, *wide, targets)
    assert_near(found[:2], expected[:2], 1e-5)
    assert_near(found[2:], [t.bfloat16() for t in expected[2:]], 0.02)


def test_autocast_rounds_nothing():
    hidden, weight, targets = arguments(20, 8, 30, torch.float32)
    expected = results(primal.linear_cross_entropy, hidden, weight, targets)
    with torch.autocast("cpu", torch.bfloat16):
        assert_near(results(primal.linear_cross_entropy, hidden, weight, targets), expected, 0)
        narrow = hidden.detach().bfloat16().requires_grad_()
        loss, _ = primal.linear_cross_entropy(narrow, weight, targets)
    loss.backward()
    assert narrow.grad.dtype == torch.bfloat16
    assert weight.grad.dtype == torch.float32
    torch.testing.assert_close(loss, expected[0], rtol=0.02, atol=0.02)


def test_large_logits_do_not_overflow():
    hidden, weight, targets = arguments(20, 8, 30)
    single = [(100 * t.detach()).float().requires_grad_() for t in (hidden, weight)]
    double = [t.detach().double().requires_grad_() for t in single]
    assert_near(results(primal.linear_cross_entropy, *single, targets), results(formula, *double, targets), 1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_what_is_not_a_number_shows(dtype):
    hidden, weight, targets = arguments(5, 4, 40, dtype)
    hidden.data[2, 1] = float("nan")
    loss, nll, hidden_gradient, _ = results(primal.linear_cross_entropy, hidden, weight, targets)
    assert loss.isnan()
    assert nll.isnan().tolist() == [False, False, True, False, False]
    assert hidden_gradient.isnan().any(1).tolist() == [False, False, True, False, False]


def test_tokens_that_are_ignored_may_hold_anything():
    hidden, weight, targets = arguments(40, 8, 30, ignored=True)
    expected = results(formula, hidden, weight, targets)
    hidden.data[::3] = float("nan")
    assert_near(results(primal.linear_cross_entropy, hidden, weight, targets), expected, 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("ignore_index", [-100, 3])
def test_all_ignored(dtype, ignore_index):
    hidden, weight, targets = arguments(7, 4, 30, dtype)
    targets.fill_(ignore_index)
    for found in results(primal.linear_cross_entropy, hidden, weight, targets, ignore_index=ignore_index):
        assert not found.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("tokens", [1, 7, 20, 300])
def test_number_of_threads_does_not_matter(dtype, tokens, set_threads):
    for width, vocabulary in ((33, 777), (40, 5003), (512, 10007)):
        a, found = arguments(tokens, width, vocabulary, dtype, ignored=tokens > 1), []
        for threads in (1, 2, 3):
            set_threads(threads)
            found.append(results(primal.linear_cross_entropy, *a, label_smoothing=0.1))
        for one, two, three in zip(*found, strict=True):
            assert torch.equal(one, two)
            assert torch.equal(one, three)


def test_any_layout_will_do():
    hidden, weight, targets = arguments(20, 8, 30)
    turned = [t.detach().t().contiguous().t().requires_grad_() for t in (hidden, weight)]
    spread = torch.stack([targets, targets], 1)[:, 0]
    expected = results(primal.linear_cross_entropy, hidden, weight, targets)
    assert_near(results(primal.linear_cross_entropy, *turned, spread), expected, 1e-13)


# --- gradients ---


@smoothings
def test_gradcheck(smoothing):
    hidden, weight, targets = arguments(ignored=True)

    def function(*tensors):
        return primal.linear_cross_entropy(*tensors, targets, label_smoothing=smoothing)[0]

    gradcheck(function, (hidden, weight))


@pytest.mark.parametrize("asked", [0, 1])
def test_of_one_argument_alone(asked):
    hidden, weight, targets = arguments()
    expected = results(formula, hidden, weight, targets)[2 + asked]
    tensors = [t.detach() for t in (hidden, weight)]
    tensors[asked].requires_grad_()
    loss, _ = primal.linear_cross_entropy(*tensors, targets)
    assert_near(torch.autograd.grad(0.7 * loss, tensors[asked]), [expected], 1e-12)


def test_backward_twice():
    hidden, weight, targets = arguments()
    loss, _ = primal.linear_cross_entropy(hidden, weight, targets)
    first = torch.autograd.grad(3 * loss, (hidden, weight), retain_graph=True)
    assert_near(torch.autograd.grad(3 * loss, (hidden, weight)), first, 0)


def second_derivative(function, x):
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    return torch.autograd.grad(first.square().sum(), x)[0]


def tangent(function, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def batched_gradients(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x), x, torch.ones(2, dtype=x.dtype), is_grads_batched=True)[0]


ATTEMPTS = {
    "func.grad": lambda f, x: func.grad(f)(x),
    "func.jvp": lambda f, x: func.jvp(f, (x,), (torch.ones_like(x),))[1],
    "forward mode": tangent,
    "second derivative": second_derivative,
    "is_grads_batched": batched_gradients,
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_is_refused_and_plain_has_it(attempt):
    hidden, weight, targets = (t.detach() for t in arguments())

    def function(implementation):
        return lambda x: primal.linear_cross_entropy(x, weight, targets, implementation=implementation)[0]

    message = r'^primal::\w+ has no .*; use implementation="plain"$'
    with pytest.raises((NotImplementedError, RuntimeError), match=message):
        attempt(function("auto"), hidden)
    assert attempt(function("plain"), hidden).isfinite().all()


# --- graphs ---


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("tokens", [0, 9])
def test_operators(dtype, tokens):
    hidden, weight, targets = arguments(tokens, dtype=dtype, ignored=True)
    values = hidden.detach(), weight.detach(), targets
    opcheck(torch.ops.primal.linear_cross_entropy.default, (hidden, weight, targets, -100, 0.1))
    opcheck(torch.ops.primal.linear_cross_entropy.default, values)
    for wanted in ((True, True), (True, False), (False, True)):
        opcheck(torch.ops.primal.linear_cross_entropy_keeping.default, (*values, -100, 0.1, *wanted))
    backward = (torch.tensor(2.0), values[0], values[1], values[0], values[1])
    opcheck(torch.ops.primal.linear_cross_entropy_backward.default, backward)


def test_every_operator_is_checked_here():
    names = torch._C._dispatch_get_registrations_for_dispatch_key("Meta")
    name = "primal::linear_cross_entropy"
    registered = {n for n in names if n.startswith(name)}
    assert registered == {name, name + "_keeping", name + "_backward"}


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(30, 8))

    def forward(self, hidden, targets):
        return primal.linear_cross_entropy(hidden, self.weight, targets, label_smoothing=0.1)


def test_compiled_for_any_number_of_tokens():
    torch.compiler.reset()
    module = Loss()
    compiled = torch.compile(module, dynamic=True, fullgraph=True)
    for tokens in (5, 6, 300):
        hidden, targets = torch.randn(tokens, 8, requires_grad=True), torch.randint(30, (tokens,))
        found = [
            results(lambda h, _, t, call=call: call(h, t), hidden, module.weight, targets)
            for call in (module, compiled)
        ]
        assert_near(found[1], found[0], 1e-6)


def test_exported_for_any_number_of_tokens():
    module = Loss()
    tokens = Dim("tokens", min=2, max=4096)
    example = torch.randn(5, 8), torch.randint(30, (5,))
    program = torch.export.export(module, example, dynamic_shapes={"hidden": {0: tokens}, "targets": {0: tokens}})
    hidden, targets = torch.randn(70, 8), torch.randint(30, (70,))
    assert_near(program.module()(hidden, targets), module(hidden, targets), 0)


# --- memory ---

PEAK = """
import resource, torch, primal
torch.set_num_threads(1)
tokens, width, vocabulary = 16384, 16, 20000
hidden, weight = torch.randn(tokens, width, requires_grad=True), torch.randn(vocabulary, width, requires_grad=True)
targets = torch.randint(vocabulary, (tokens,))
primal.linear_cross_entropy(hidden[:4], weight, targets[:4])[0].backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
primal.linear_cross_entropy(hidden, weight, targets)[0].backward()
more = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(more / (4 * tokens * vocabulary))
"""


def test_logits_are_never_held_at_once():
    done = subprocess.run([sys.executable, "-c", PEAK], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1


# --- errors ---

ERRORS = {
    "target above": ({"targets": torch.tensor([0, 1, 11])}, ValueError, "target 11 is outside the vocabulary of 11"),
    "target below": ({"targets": torch.tensor([0, -1, 2])}, ValueError, "target -1 is outside the vocabulary of 11"),
    "hidden": ({"hidden": torch.randn(1, 3, 6)}, ValueError, r"hidden must be \[T, D\], got \[1, 3, 6\]"),
    "weight": ({"weight": torch.randn(11)}, ValueError, r"weight must be \[V, D\], got \[11\]"),
    "width": ({"weight": torch.randn(11, 5)}, ValueError, r"the width 6 of hidden, got \[11, 5\]"),
    "vocabulary": ({"weight": torch.randn(0, 6)}, ValueError, r"a vocabulary of at least 1, got \[0, 6\]"),
    "tokens": ({"targets": torch.tensor([0, 1])}, ValueError, r"targets must be \[T\] = \[3\], got \[2\]"),
    "two": ({"targets": torch.zeros(3, 1).long()}, ValueError, r"targets must be \[T\] = \[3\], got \[3, 1\]"),
    "int32": ({"targets": torch.zeros(3).int()}, TypeError, "targets must be int64, got Int"),
    "half": ({"hidden": torch.randn(3, 6).half()}, TypeError, "float32, float64 or bfloat16, got Half"),
    "mixed": ({"weight": torch.randn(11, 6).double()}, TypeError, "weight is Double but hidden is Float"),
    "smoothing": ({"label_smoothing": 1.5}, ValueError, r"label_smoothing must be in \[0, 1\], got 1.5"),
    "meta": ({"weight": torch.randn(11, 6, device="meta")}, ValueError, "weight is on meta but hidden is on cpu"),
    "list": ({"targets": [1, 2, 3]}, TypeError, "targets must be a tensor, got list"),
    "implementation": ({"implementation": "fast"}, ValueError, "one of auto, plain, got 'fast'"),
}


@pytest.mark.parametrize(("change", "kind", "message"), ERRORS.values(), ids=ERRORS)
def test_says_what_is_wrong(change, kind, message):
    good = {"hidden": torch.randn(3, 6), "weight": torch.randn(11, 6), "targets": torch.tensor([0, 1, 2])}
    primal.linear_cross_entropy(**good)
    with pytest.raises(kind, match="^linear_cross_entropy: .*" + message):
        primal.linear_cross_entropy(**{**good, **change})

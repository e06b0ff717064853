"""primal.moving_average keeps the rules of torch.library, goes through graphs, and says which argument is wrong."""

import io
import logging
import re
import warnings

import pytest
import torch
from average_cases import BOTH, arguments, assert_near, loop, roots_of
from torch import nn
from torch.export import Dim
from torch.library import opcheck

import primal

# Of PyTorch's own functions only the graph is ours to test; compiling one with 20 steps takes minutes.
BACKENDS = {"auto": "inductor", "plain": "aot_eager"}
both = pytest.mark.parametrize("implementation", BOTH)
directions = pytest.mark.parametrize("directions", [1, 2])
CASES = {
    "one direction": {},
    "two directions": {"directions": 2},
    "padding": {"padding": "holes"},
    "both ways with padding": {"directions": 2, "padding": "left"},
    "state": {"state": True},
    "no skip": {"skip": False},
    "groups": {"groups": 2},
    "no scale": {"scales": 0},
    "no token": {"tokens": 0, "state": True},
    "all": {"padding": "right", "state": True, "groups": 3},
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)


# --- opcheck ---


@every_dtype
@every_case
def test_operator(case, dtype):
    a, _ = arguments(**case).to(dtype).leaves()
    opcheck(torch.ops.primal.moving_average.default, tuple(a))


@every_case
def test_operator_without_gradients(case):
    opcheck(torch.ops.primal.moving_average.default, tuple(arguments(**case)))


@every_dtype
@every_case
def test_backward_operator(case, dtype):
    a = arguments(**case).to(dtype)
    grad_out, grad_state = roots_of(a)
    for grad in (grad_state, None):
        opcheck(torch.ops.primal.moving_average_backward.default, (grad_out.to(dtype), grad, *a))


def test_every_operator_is_checked_here():
    names = torch._C._dispatch_get_registrations_for_dispatch_key("Meta")
    registered = {name for name in names if name.startswith("primal::moving_average")}
    assert registered == {"primal::moving_average", "primal::moving_average_backward"}


# --- graphs ---


class Averages(nn.Module):
    def __init__(self, directions, implementation, width=6):
        super().__init__()
        a = arguments(width=width, directions=directions, groups=2).to(torch.float32)
        self.log_scale, self.weight, self.skip = (nn.Parameter(t) for t in (a.log_scale, a.weight, a.skip))
        self.implementation = implementation

    def forward(self, x, padding=None, state=None):
        coefficients = (self.log_scale, self.weight, self.skip)
        return primal.moving_average(x, *coefficients, padding, state, implementation=self.implementation)


def batch_of(batch, tokens):
    return torch.randn(batch, tokens, 6), torch.arange(tokens)[None] >= torch.randint(1, tokens + 1, (batch, 1))


@both
@directions
def test_compiled_for_any_length(implementation, directions):
    torch.compiler.reset()
    module = Averages(directions, implementation)
    compiled = torch.compile(module, dynamic=True, fullgraph=True, backend=BACKENDS[implementation])
    for tokens in (5, 6, 70, 130):
        batch = batch_of(2, tokens)
        for given in batch:
            torch._dynamo.mark_dynamic(given, 1, min=2, max=256)
        results = []
        for call in (module, compiled):
            module.zero_grad()
            x = batch[0].clone().requires_grad_()
            out, state = call(x, batch[1])
            (out.square().sum() + state.sum()).backward()
            results.append([out, state, x.grad, *(p.grad.clone() for p in module.parameters())])
        assert_near(results[1], results[0], 3e-6)


@both
def test_compiled_decoding(implementation):
    torch.compiler.reset()
    module = Averages(1, implementation)
    compiled = torch.compile(module, fullgraph=True, backend=BACKENDS[implementation])
    x = torch.randn(2, 4, 6)
    state = torch.zeros(2, 3, 6, dtype=torch.float64)
    steps = []
    for t in range(4):
        with torch.no_grad():
            out, state = compiled(x[:, t : t + 1], None, state)
        steps.append(out)
    assert_near((torch.cat(steps, 1), state), module(x), 1e-6)


@both
@pytest.mark.parametrize("strict", [False, True])
def test_exported_program_runs_on_other_sizes_also_after_saving(implementation, strict):
    module = BothKinds(implementation)
    program = torch.export.export(module, batch_of(2, 9), dynamic_shapes=sizes_up_to(512), strict=strict)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for exported in (program, torch.export.load(file)):
        for batch, tokens in ((2, 9), (1, 2), (3, 70), (2, 300)):
            given = batch_of(batch, tokens)
            assert_near(exported.module()(*given), module(*given), 1e-6)


class BothKinds(nn.Module):
    """One direction and two, in one graph."""

    def __init__(self, implementation):
        super().__init__()
        self.one, self.two = Averages(1, implementation), Averages(2, implementation)

    def forward(self, x, padding):
        return *self.one(x, padding), self.two(x, padding)[0]


def sizes_up_to(tokens):
    size = {0: Dim("batch", min=1, max=64), 1: Dim("tokens", min=2, max=tokens)}
    return size, size


def steps(**sizes):
    program = torch.export.export(Averages(1, "plain"), (torch.randn(2, 9, 6),), **sizes)
    return len([node for node in program.graph.nodes if "aten.exp." in str(node.target)]) - 1  # one is the rate


def test_exported_plain_steps_are_as_many_as_the_longest_sequence_needs():
    assert steps() == 4  # 9 tokens
    assert steps(dynamic_shapes=(sizes_up_to(64)[0],)) == 6
    assert steps(dynamic_shapes=(sizes_up_to(4096)[0],)) == 12
    assert steps(dynamic_shapes=(sizes_up_to(2**22)[0],)) == 22
    assert steps(dynamic_shapes=({1: Dim.DYNAMIC},)) == 20


def test_onnx():
    onnxruntime = pytest.importorskip("onnxruntime")
    module, sizes = BothKinds("auto").eval(), sizes_up_to(128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        program = torch.onnx.export(module, batch_of(3, 7), dynamic_shapes=sizes, dynamo=True, verbose=False)
        logging.disable(logging.NOTSET)
    file = io.BytesIO()
    program.save(file)
    session = onnxruntime.InferenceSession(file.getvalue())
    names = [given.name for given in session.get_inputs()]
    for batch, tokens in ((2, 5), (5, 100)):
        given = batch_of(batch, tokens)
        found = session.run(None, {n: t.numpy() for n, t in zip(names, given, strict=True)})
        assert_near([torch.from_numpy(f) for f in found], [t.detach() for t in module(*given)], 1e-6)


@directions
def test_on_the_meta_device(directions):
    a = arguments(directions=directions, state=True, padding="left")
    meta = a._replace(**{name: tensor.to("meta") for name, tensor in a.tensors().items()})
    for value, expected in zip(meta.run(), a.run(), strict=True):
        assert (value.shape, value.dtype, value.device.type) == (expected.shape, expected.dtype, "meta")


# --- errors ---


def zeros(*size, **options):
    return torch.zeros(size, **{"dtype": torch.float32} | options)


WRONG = {
    "x dim": ({"x": zeros(9, 6)}, ValueError, r"x must be \[B, N, D\], got \[9, 6\]"),
    "x dtype": ({"x": zeros(2, 9, 6, dtype=torch.float16)}, TypeError, "x must be float32, float64 or bfloat16, got"),
    "x integer": ({"x": zeros(2, 9, 6, dtype=torch.int64)}, TypeError, "x must be float32, float64 or bfloat16, got"),
    "log_scale dim": ({"log_scale": zeros(3, 6)}, ValueError, r"log_scale must be \[R, S, G\].*, got \[3, 6\]"),
    "no direction": ({"log_scale": zeros(0, 3, 6)}, ValueError, r"log_scale must be \[R, S, G\].*, got \[0, 3, 6\]"),
    "directions": ({"log_scale": zeros(3, 3, 6)}, ValueError, r"log_scale must be \[R, S, G\].*, got \[3, 3, 6\]"),
    "groups": ({"log_scale": zeros(1, 3, 4)}, ValueError, r"must divide the width 6, got \[1, 3, 4\]"),
    "more groups": ({"log_scale": zeros(1, 3, 12)}, ValueError, r"must divide the width 6, got \[1, 3, 12\]"),
    "no group": ({"log_scale": zeros(1, 3, 0)}, ValueError, r"must divide the width 6, got \[1, 3, 0\]"),
    "log_scale dtype": ({"log_scale": zeros(1, 3, 6, dtype=torch.float64)}, TypeError, "log_scale is .* but x is"),
    "weight scales": ({"weight": zeros(1, 2, 6)}, ValueError, r"= \[1, 3, 6\], got \[1, 2, 6\]"),
    "weight directions": ({"weight": zeros(2, 3, 6)}, ValueError, r"= \[1, 3, 6\], got \[2, 3, 6\]"),
    "weight width": ({"weight": zeros(1, 3, 1)}, ValueError, r"= \[1, 3, 6\], got \[1, 3, 1\]"),
    "weight dtype": ({"weight": zeros(1, 3, 6, dtype=torch.bfloat16)}, TypeError, "weight is .* but x is"),
    "skip": ({"skip": zeros(5)}, ValueError, r"skip must be \[D\] = \[6\], got \[5\]"),
    "skip dim": ({"skip": zeros(1, 6)}, ValueError, r"skip must be \[D\] = \[6\], got \[1, 6\]"),
    "skip dtype": ({"skip": zeros(6, dtype=torch.float64)}, TypeError, "skip is .* but x is"),
    "padding": ({"padding": zeros(2, 8, dtype=torch.bool)}, ValueError, r"= \[2, 9\], got \[2, 8\]"),
    "padding batch": ({"padding": zeros(1, 9, dtype=torch.bool)}, ValueError, r"= \[2, 9\], got \[1, 9\]"),
    "padding dtype": ({"padding": zeros(2, 9)}, TypeError, r"padding must be bool \(.rue = padded\), got"),
    "state": ({"state": zeros(2, 4, 6, dtype=torch.float64)}, ValueError, r"= \[2, 3, 6\], got \[2, 4, 6\]"),
    "state dtype": ({"state": zeros(2, 3, 6)}, TypeError, "state must be float64, got"),
    "state both ways": (
        {"log_scale": zeros(2, 3, 6), "weight": zeros(2, 3, 6), "state": zeros(2, 3, 6, dtype=torch.float64)},
        ValueError,
        "a state belongs to one direction, log_scale has two",
    ),
    **{
        f"{name} device": ({name: tensor}, ValueError, f"{name} is on meta but x is on cpu")
        for name, tensor in {
            "log_scale": zeros(1, 3, 6, device="meta"),
            "weight": zeros(1, 3, 6, device="meta"),
            "skip": zeros(6, device="meta"),
            "padding": zeros(2, 9, device="meta", dtype=torch.bool),
            "state": zeros(2, 3, 6, device="meta", dtype=torch.float64),
        }.items()
    },
}


@both
@pytest.mark.parametrize(("change", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_in_one_line(implementation, change, error, message):
    with pytest.raises(error) as caught:
        arguments().to(torch.float32).run(implementation, **change)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("moving_average: ")
    assert re.search(message, text), text


@pytest.mark.parametrize("name", ["x", "log_scale", "weight", "skip", "padding", "state"])
def test_what_is_no_tensor(name):
    with pytest.raises(TypeError, match=f"^moving_average: {name} must be a tensor, got list$"):
        arguments().run(**{name: [1.0]})
    if name in ("x", "log_scale", "weight"):
        with pytest.raises(TypeError, match=f"^moving_average: {name} must be a tensor, got NoneType$"):
            arguments().run(**{name: None})


def test_there_are_two_implementations():
    with pytest.raises(ValueError, match=r"^moving_average: implementation must be one of auto, plain, got 'fast'$"):
        arguments().run("fast")


@both
def test_bfloat16_beside_float64_coefficients(implementation):
    a = arguments()
    with pytest.raises(TypeError, match=r"log_scale is .* but x is"):
        a.run(implementation, x=a.x.bfloat16())


def test_the_example_of_the_documentation():
    x, following = torch.randn(2, 9, 4), torch.randn(2, 3, 4)
    tau = torch.tensor([1.0, 10.0, 100.0])
    log_scale, weight = tau.log()[None, :, None], torch.ones(1, 3, 4) / 3
    out, state = primal.moving_average(x, log_scale, weight)
    more, _ = primal.moving_average(following, log_scale, weight, state=state)
    whole = arguments()._replace(x=torch.cat([x, following], 1), log_scale=log_scale, weight=weight, skip=None)
    assert_near((torch.cat([out, more], 1),), loop(whole.to(torch.float64))[:1], 1e-6)

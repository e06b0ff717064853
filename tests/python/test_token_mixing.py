"""TokenMixing by itself: convolution and memory are their formulas, in one pass or in steps."""

import copy
import io
import math

import pytest
import torch

import primal
from primal import reference

WIDTH = 6
KINDS = [{}, {"kernel": 3}, {"memory": "none", "kernel": 5}, {"kernel": 1}]
every_kind = pytest.mark.parametrize("options", KINDS, ids=str)
both_ways = pytest.mark.parametrize("causal", [False, True], ids=["both", "causal"])


def make(**options):
    """In float64, with parameters that differ from channel to channel."""
    torch.manual_seed(4)
    mixing = primal.TokenMixing(WIDTH, **({"scales": 3, "tokens": 50, "dtype": torch.float64} | options))
    with torch.no_grad():
        for parameter in mixing.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return mixing


def tokens(batch=2, length=9, dtype=torch.float64):
    return torch.randn(batch, length, WIDTH, dtype=dtype)


def by_its_formulas(mixing, x):
    """One sequence [N, D] without padding."""
    u = x
    if mixing.taps is not None:
        before = mixing.kernel - 1 if mixing.causal else mixing.kernel // 2
        rows = [
            sum(
                (tap * x[t + k - before] for k, tap in enumerate(mixing.taps) if 0 <= t + k - before < len(x)),
                torch.zeros(WIDTH, dtype=x.dtype),
            )
            for t in range(len(x))
        ]
        u = torch.stack(rows)
    if mixing.log_scale is None:
        return u
    out = list(u * mixing.skip)
    for direction, scales in enumerate(mixing.log_scale):
        for i, log_scale in enumerate(scales):
            a, average = torch.exp(-1 / log_scale.exp()), torch.zeros(WIDTH, dtype=x.dtype)
            for t in range(len(x)) if direction == 0 else reversed(range(len(x))):
                average = a * average + (1 - a) * u[t]
                out[t] = out[t] + mixing.gain[direction, i] * average
    return torch.stack(out)


@every_kind
@both_ways
def test_is_its_formulas(options, causal):
    mixing = make(causal=causal, **options)
    for length in (1, 2, 9):
        x = tokens(1, length)
        torch.testing.assert_close(mixing(x)[0], by_its_formulas(mixing, x[0]))
    assert mixing(tokens(2, 0)).shape == (2, 0, WIDTH)


def test_starts_from_the_tokens_plus_a_mean():
    mixing = primal.TokenMixing(WIDTH, tokens=50, kernel=3)
    assert [name for name, _ in mixing.named_parameters()] == ["log_scale", "gain", "skip", "taps"]
    assert mixing.log_scale.shape == mixing.gain.shape == (2, 4, WIDTH)
    expected = [[math.log(50) * (i + c / WIDTH) / 4 for c in range(WIDTH)] for i in range(4)]
    torch.testing.assert_close(mixing.log_scale, torch.tensor([expected, expected]))
    assert mixing.gain.unique().tolist() == [1 / 8]
    assert mixing.taps.tolist() == [[0] * WIDTH, [1] * WIDTH, [0] * WIDTH]
    assert primal.TokenMixing(WIDTH, causal=True, kernel=2, memory="none").taps.tolist() == [[0] * WIDTH, [1] * WIDTH]
    out = mixing(torch.ones(1, 4001, WIDTH))
    torch.testing.assert_close(out[0, 2000], torch.full((WIDTH,), 2.0), rtol=1e-4, atol=0)


@every_kind
@pytest.mark.parametrize("implementation", ["auto", "plain"])
@pytest.mark.parametrize("padded", [False, True])
def test_steps_are_the_full_pass_cut_anywhere(options, implementation, padded):
    mixing = make(causal=True, implementation=implementation, **options)
    x, mask = tokens(), torch.rand(2, 9) < 0.3 if padded else None
    full = mixing(x, mask)

    def step(state, part):
        return mixing.step(x[:, part], state, key_padding_mask=None if mask is None else mask[:, part])

    for cut in range(10):
        first, state = step(mixing.initial_state(2), slice(0, cut))
        second, _ = step(state, slice(cut, 9))
        torch.testing.assert_close(torch.cat([first, second], 1), full.detach())
    state, parts = mixing.initial_state(2), []
    for t in range(9):
        out, state = step(state, slice(t, t + 1))
        parts.append(out)
    torch.testing.assert_close(torch.cat(parts, 1), full.detach())


@every_kind
@both_ways
@pytest.mark.parametrize("implementation", ["auto", "plain"])
def test_padding_in_front_or_behind_changes_nothing(options, causal, implementation):
    mixing, x = make(causal=causal, implementation=implementation, **options), tokens(1, 7)

    def run(front, behind):
        filler = torch.full((1, 1, WIDTH), torch.nan, dtype=x.dtype)
        given = torch.cat([filler.expand(1, front, -1), x, filler.expand(1, behind, -1)], 1).requires_grad_()
        mask = torch.ones(1, given.shape[1], dtype=torch.bool)
        mask[:, front : front + 7] = False
        out = mixing(given, mask)
        grads = torch.autograd.grad(out.square().sum(), [given, *mixing.parameters()])
        assert not out[mask].any()
        assert not grads[0][mask].any()
        return [out[~mask].detach(), grads[0][~mask], *grads[1:]]

    expected = run(0, 0)
    for front, behind in ((0, 5), (3, 0), (70, 80)):
        torch.testing.assert_close(run(front, behind), expected)


def test_time_reversal_swaps_the_directions():
    mixing, x = make(kernel=3), tokens()
    expected = mixing(x).flip(1)
    with torch.no_grad():
        for parameter in (mixing.log_scale, mixing.gain, mixing.taps):
            parameter.copy_(parameter.flip(0))
    torch.testing.assert_close(mixing(x.flip(1)), expected)


@both_ways
@pytest.mark.parametrize("implementation", ["auto", "plain"])
def test_gradients(causal, implementation):
    mixing, x = make(causal=causal, kernel=3, implementation=implementation), tokens(2, 5).requires_grad_()
    mask = torch.tensor([[False] * 5, [False, True, False, False, True]])
    names = [name for name, _ in mixing.named_parameters()]

    def function(x, *parameters):
        return torch.func.functional_call(mixing, dict(zip(names, parameters, strict=True)), (x, mask))

    torch.autograd.gradcheck(function, (x, *mixing.parameters()))
    if implementation == "plain":
        torch.autograd.gradgradcheck(function, (x, *mixing.parameters()))


def test_plain_is_the_operator():
    x, mask = tokens(length=40), torch.rand(2, 40) < 0.3
    for causal in (False, True):
        mixing = make(causal=causal, kernel=3)
        twin = copy.deepcopy(mixing)
        twin.implementation = "plain"
        torch.testing.assert_close(mixing(x, mask), twin(x, mask))
        assert twin._is_plain()
        assert not mixing._is_plain()


@both_ways
def test_bfloat16_is_summed_in_float32(causal):
    narrow = make(causal=causal, kernel=3).bfloat16()
    wide, x = copy.deepcopy(narrow).float(), tokens(length=300).bfloat16()
    out = narrow(x)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), wide(x.float()), rtol=0.02, atol=0.02)


def test_lengths_are_a_mask():
    mixing, x = make(kernel=3), tokens()
    mask = primal.padding_mask([4, 9], 9)
    assert torch.equal(mixing(x, lengths=[4, 9]), mixing(x, mask))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles(dynamic):
    mixing = make(kernel=3)
    torch._dynamo.reset()
    compiled = torch.compile(mixing, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for length in (5, 8) if dynamic else (5,):
        x, mask = tokens(2, length).requires_grad_(), primal.padding_mask([length, 2], length)
        results = [
            (m(x, mask), *torch.autograd.grad(m(x, mask).sum(), [x, *mixing.parameters()])) for m in (compiled, mixing)
        ]
        torch.testing.assert_close(*results)


def test_exports_for_any_length_and_survives_a_file():
    mixing = make(kernel=3)
    length = torch.export.Dim("length", min=2, max=4096)
    shapes = {"x": {1: length}, "key_padding_mask": {1: length}}
    program = torch.export.export(mixing, (tokens(), torch.zeros(2, 9, dtype=torch.bool)), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    x, mask = tokens(2, 31), torch.rand(2, 31) < 0.3
    torch.testing.assert_close(torch.export.load(file).module()(x, mask), mixing(x, mask))


def test_a_copy_and_a_state_dict_compute_the_same():
    mixing, other, x = make(kernel=3), primal.TokenMixing(WIDTH, scales=3, kernel=3, dtype=torch.float64), tokens()
    twin = copy.deepcopy(mixing)
    other.load_state_dict(mixing.state_dict())
    before = mixing(x)
    mixing.reset_parameters()
    assert torch.equal(twin(x), before)
    assert torch.equal(other(x), before)
    assert not torch.equal(mixing(x), before)


def test_repr():
    assert repr(make(kernel=3)) == "TokenMixing(6, scales=3, tokens=50, kernel=3)"
    assert repr(make(kernel=2, causal=True, memory="none")) == "TokenMixing(6, memory=none, kernel=2, causal=True)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "mean"}, "TokenMixing: memory must be one of none, decay, got 'mean'"),
        ({"scales": 0}, "TokenMixing: scales must be at least 1, got 0"),
        ({"tokens": 0}, "TokenMixing: tokens must be at least 1, got 0"),
        ({"kernel": -1}, "TokenMixing: kernel must be at least 0, got -1"),
        ({"kernel": 4}, "TokenMixing: a kernel that looks both ways must be odd, .*, got 4"),
        ({"memory": "none"}, "TokenMixing: neither a memory nor a kernel"),
    ],
    ids=str,
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make(**options)


def test_other_errors():
    with pytest.raises(TypeError, match=r"^TokenMixing: kernel must be an integer, got float 1.5$"):
        make(kernel=1.5)
    with pytest.raises(ValueError, match=r"^TokenMixing: x must be \[B, N, D\] = \[B, N, 6\], got \[2, 3, 5\]$"):
        make()(torch.randn(2, 3, 5))
    with pytest.raises(ValueError, match=r"^TokenMixing: only a causal mixing has a state$"):
        make().initial_state(2)
    mixing = make(causal=True, kernel=3)
    with pytest.raises(
        ValueError, match=r"^TokenMixing: state sums must be \[2, 3, 6\] on cpu, got \[3, 3, 6\] on cpu$"
    ):
        mixing.step(tokens(2, 1), mixing.initial_state(3))
    with pytest.raises(TypeError, match=r"^TokenMixing: state must be a MixingState of two tensors, got NoneType$"):
        mixing.step(tokens(2, 1), None)
    sums, recent = mixing.initial_state(2)
    with pytest.raises(ValueError, match=r"^TokenMixing: state sums must be torch.float64, got torch.float32$"):
        mixing.step(tokens(2, 1), (sums.float(), recent))


def test_the_reference_is_called_by_its_name(monkeypatch):
    called = []
    monkeypatch.setattr(reference, "moving_average", lambda x, *_: (called.append(1) or x, None))
    make(implementation="plain")(tokens())
    assert called

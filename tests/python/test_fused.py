"""The fused attention, float32 and bfloat16, against the same layer in float64, which runs in ATen calls."""

import copy
import itertools
import os
import subprocess
import sys

import pytest
import torch
from attention_cases import MODES, assert_near, make_layer, random_tokens, run

# Of the largest entry of each tensor: gradients of weights are sums over all tokens in float32.
TOLERANCE = 1e-4


def run_both(layer, x, padding=None):
    masks = {} if padding is None else {"key_padding_mask": padding}
    weight = torch.randn(x.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    fused = run(layer.float(), x.float(), weight=weight, **masks)
    expected = run(copy.deepcopy(layer).double(), x.double(), weight=weight, **masks)
    return {name: value.double() for name, value in fused.items()}, expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
@pytest.mark.parametrize("bias", [True, False])
def test_same_as_in_float64(mode, padding, bias):
    torch.manual_seed(5)
    for (batch, tokens), (width, heads, rank) in itertools.product(
        ((1, 1), (3, 7), (2, 301)), ((6, 2, 1), (36, 3, 9), (64, 2, 20))
    ):
        layer = make_layer(width, heads, rank, 11, bias=bias, padding=padding or "respect", **MODES[mode])
        mask = None
        if padding is not None:
            mask = torch.rand(batch, tokens) < 0.3
            mask[:, 0] = False
        assert_near(*run_both(layer, random_tokens(batch, tokens, width), mask), TOLERANCE)


@pytest.mark.parametrize(
    "options", [{"trace": "data_dependent"}, {"sampling": "legacy"}, {"lambda_form": "exp"}], ids=str
)
def test_options(options):
    torch.manual_seed(6)
    layer = make_layer(24, 3, 5, 8, **options)
    assert_near(*run_both(layer, random_tokens(3, 40, 24)), TOLERANCE)


def test_several_chunks_of_a_wide_layer():
    """Width 512 has about a thousand tokens per chunk: samples begin and end inside of tiles and chunks."""
    torch.manual_seed(7)
    layer = make_layer(512, 8, 30, 50)
    mask = torch.zeros(3, 850, dtype=torch.bool)
    mask[1, 400:] = True
    assert_near(*run_both(layer, random_tokens(3, 850, 512), mask), TOLERANCE)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", [None, "respect", "ignore"])
def test_bfloat16_is_float32_rounded_once(mode, padding):
    if not torch.ops.primal_util.is_fused(torch.bfloat16):
        pytest.skip("this CPU multiplies bfloat16 numbers itself")
    narrow = make_layer(64, 2, 20, 11, padding=padding or "respect", dtype=torch.float32, **MODES[mode]).bfloat16()
    wide = copy.deepcopy(narrow).float()
    x = random_tokens(3, 301, 64, dtype=torch.bfloat16)
    mask = {} if padding is None else {"key_padding_mask": torch.rand(3, 301) < 0.3}
    actual, expected = run(narrow, x, **mask), run(wide, x.float(), **mask)
    assert torch.equal(actual["out"], expected["out"].bfloat16())
    # Lambda is rounded too, and what is kept for the backward pass.
    assert_near({name: value.double() for name, value in actual.items()}, expected, 0.03)


def test_strides_of_the_input_do_not_matter():
    layer = make_layer(24, 3, 5, 8, dtype=torch.float32)
    x = torch.randn(2, 24, 31).transpose(1, 2)
    assert torch.equal(layer(x)[0], layer(x.contiguous())[0])


def test_zero_rows_have_finite_gradients():
    """Without a bias a zero token has q = 0, where the cosine map divides by its clamp."""
    layer = make_layer(12, 3, 4, 5, bias=False, dtype=torch.float32)
    x = torch.randn(2, 9, 12)
    x[0, 3] = 0
    result = run(layer, x)
    assert all(value.isfinite().all() for value in result.values())
    assert torch.count_nonzero(result["out"][0, 3]) == 0


@pytest.mark.parametrize("mode", MODES)
def test_bits_do_not_depend_on_threads(mode):
    layer = make_layer(64, 2, 20, 30, dtype=torch.float32, **MODES[mode])
    x, before = torch.randn(3, 1700, 64), torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(run(layer, x))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for name, value in results[0].items():
            assert torch.equal(other[name], value), name


@pytest.mark.parametrize("mode", MODES)
def test_keeping_q_and_k_gives_the_bits_of_computing_them_again(mode):
    layer = make_layer(24, 3, 5, 8, dtype=torch.float32, **MODES[mode])
    operands = [None if t is None else t.detach() for t in layer._operands(torch.randn(2, 60, 24), None, (None, None))]
    *outputs, kept = torch.ops.primal.attention_keeping(*operands, **layer._switches())
    grads = [torch.randn_like(output) for output in outputs]
    arguments = (*grads, *operands)
    again = torch.ops.primal.attention_backward(*arguments, **layer._switches())
    given = torch.ops.primal.attention_backward(*arguments, **layer._switches(), kept=kept)
    for one, other in zip(given, again, strict=True):
        assert torch.equal(one, other)


SCRIPT = """
import torch, primal
torch.manual_seed(3)
layer = primal.PrimalAttention(24, 3, 5, 8)
x = torch.randn(2, 60, 24, requires_grad=True)
out, terms = layer(x)
(out.square().sum() + sum(t.sum() for t in terms)).backward()
print(*(f"{v:.9e}" for v in (out.sum(), out.square().sum(), x.grad.square().sum(), layer.we.grad.square().sum())))
print(torch.ops.primal.attention_keeping(*layer._operands(x, None, (None, None)), **layer._switches())[-1].numel())
"""


def test_every_cpu_target_and_the_aten_path_agree():
    """PRIMAL_CPU forces the kernels of a target, PRIMAL_FUSED=0 the ATen calls."""
    values, kept = {}, {}
    for variable, value in [
        ("PRIMAL_CPU", "AVX2"),
        ("PRIMAL_CPU", "SSE4"),
        ("PRIMAL_FUSED", "0"),
        ("PRIMAL_FUSED", "1"),
    ]:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=os.environ | {variable: value}, capture_output=True, text=True
        )
        if "this CPU has" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        first, second = done.stdout.splitlines()
        values[variable, value] = torch.tensor([float(v) for v in first.split()], dtype=torch.float64)
        kept[variable, value] = int(second)
    assert kept["PRIMAL_FUSED", "0"] == 0
    assert kept["PRIMAL_FUSED", "1"] == 2 * 60 * 48
    for way in values.values():
        torch.testing.assert_close(way, values["PRIMAL_FUSED", "0"], rtol=1e-5, atol=1e-5)

"""Every operator keeps the rules of torch.library: schema, autograd, fake tensors, tracing with symbolic sizes."""

import pytest
import torch
from attention_cases import CAUSAL, random_arguments
from torch.library import opcheck

CASES = {
    "data_dependent": {"mode": "data_dependent"},
    "data_independent": {"mode": "data_independent"},
    "causal": {"mode": "causal"},
    "no bias": {"mode": "data_dependent", "bias": False},
    "causal decay": {"mode": "causal decay"},
    "masks": {"mode": "data_dependent", "masks": True},
    "causal masks": {"mode": "causal", "masks": True},
    "causal decay masks": {"mode": "causal decay", "masks": True},
    "causal decay float32": {"mode": "causal decay", "masks": True, "dtype": torch.float32},
    "cross": {"mode": "data_dependent", "key_tokens": 5},
    "cross masks": {"mode": "data_independent", "key_tokens": 5, "masks": True},
    "polynomial": {"mode": "data_dependent", "feature_map": "polynomial(2)"},
    "float32": {"mode": "data_dependent", "dtype": torch.float32},
    "bfloat16": {"mode": "data_dependent", "dtype": torch.bfloat16},
    "bfloat16 causal masks": {"mode": "causal", "dtype": torch.bfloat16, "masks": True},
    "bfloat16 causal decay": {"mode": "causal decay", "dtype": torch.bfloat16, "masks": True},
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_case
def test_attention(case):
    arguments, switches = random_arguments(**case)
    for argument in arguments:
        if argument is not None and argument.is_floating_point():
            argument.requires_grad_()
    opcheck(torch.ops.primal.attention.default, arguments, switches)


@every_case
def test_attention_keeping(case):
    arguments, switches = random_arguments(**case)
    opcheck(torch.ops.primal.attention_keeping.default, arguments, switches)


@every_case
def test_attention_backward(case):
    arguments, switches = random_arguments(**case)
    grads = [torch.randn_like(output) for output in torch.ops.primal.attention(*arguments, **switches)]
    opcheck(torch.ops.primal.attention_backward.default, (*grads, *arguments), switches)
    kept = torch.ops.primal.attention_keeping(*arguments, **switches)[-1]
    if kept.dim() == 3:
        opcheck(torch.ops.primal.attention_backward.default, (*grads, *arguments), switches | {"kept": kept})


@every_case
def test_attention_scores(case):
    arguments, switches = random_arguments(**case)
    opcheck(torch.ops.primal.attention_scores.default, arguments, switches)


@pytest.mark.parametrize("mode", CAUSAL)
@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_attention_step(dtype, masks, mode):
    arguments, switches = random_arguments(mode, dtype=dtype, masks=masks)
    state = {name: torch.randn(2, 6, dtype=torch.float64) for name in ("q_sum", "k_sum")}
    opcheck(torch.ops.primal.attention_step.default, arguments, switches | state | {"count": torch.tensor([3, 0])})


@pytest.mark.parametrize("case", ["data_dependent", "bfloat16 causal masks"])
def test_without_gradients(case):
    arguments, switches = random_arguments(**CASES[case])
    opcheck(torch.ops.primal.attention.default, arguments, switches)


def test_every_attention_operator_is_checked_here():
    names = torch._C._dispatch_get_registrations_for_dispatch_key("Meta")
    registered = {name.removeprefix("primal::") for name in names if name.startswith("primal::attention")}
    assert registered == {name.removeprefix("test_") for name in globals() if name.startswith("test_attention")}

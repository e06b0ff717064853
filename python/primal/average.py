"""Sums that fade with time, at several time scales."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from primal import _library as _library  # loads torch.ops.primal
from primal import reference
from primal._inputs import check_choice, check_mask, check_tensor, check_tokens

_OWNER = "moving_average"


def moving_average(
    x: Tensor,
    log_scale: Tensor,
    weight: Tensor,
    skip: Tensor | None = None,
    padding: Tensor | None = None,
    state: Tensor | None = None,
    *,
    implementation: Literal["auto", "plain"] = "auto",
) -> tuple[Tensor, Tensor]:
    """Sums of the tokens so far that fade: m_{i,t} = a_i m_{i,t-1} + x_t, and y_t = sum_i w_i m_{i,t} + skip x_t.

    a = exp(-1 / tau) for a time scale of tau tokens. B batch, N tokens, D width, S time scales.

    Args:
        x: tokens [B, N, D], float32, float64 or bfloat16 (summed in float32).
        log_scale: log(tau), [R, S, G]. R = 1: forward in time; R = 2: also backward, with scales and weights of its
            own; either direction has x_t in its sum. G divides D: so many groups of neighbouring channels have one
            scale. -inf is a = 0, inf is a = 1. Beside bfloat16 tokens it may be float32, like weight and skip.
        weight: w, [R, S, D].
        skip: [D]; 0 by default.
        padding: [B, N] bool, True = padded: passed over, so that nothing depends on where and how many there are;
            the output is 0 there.
        state: the sums before the first token, [B, S, D] float64; for R = 1 only.
        implementation: "auto": the operator of the C++ library; "plain": PyTorch's own functions, slower, for what the
            operator does not have: torch.func, forward mode, second derivatives. "auto" takes that path too in
            torch.onnx.export.

    Returns:
        The averages [B, N, D], and the sums after the last token, [B, S, D] float64 ([B, 0, D] for R = 2): the state
        for the tokens that follow.

    Example::

        tau = torch.tensor([1.0, 10.0, 100.0])
        log_scale = tau.log()[None, :, None]  # the same for all channels
        out, state = primal.moving_average(x, log_scale, torch.ones(1, 3, x.shape[2]) / 3)
        out, state = primal.moving_average(next_tokens, log_scale, weight, state=state)
    """
    given = {"x": x, "log_scale": log_scale, "weight": weight, "skip": skip, "padding": padding, "state": state}
    for name, value in given.items():
        if value is not None or name in ("x", "log_scale", "weight"):
            check_tensor(_OWNER, name, value)
    check_choice(_OWNER, "implementation", implementation, ("auto", "plain"))
    arguments = (x, log_scale, weight, skip, padding, state)
    if implementation == "auto" and not torch.onnx.is_in_onnx_export():  # ONNX has no such operator
        out, after = torch.ops.primal.moving_average(*arguments)
        return out, after
    if not torch.compiler.is_compiling():  # comparing sizes would fix those that a graph leaves open
        _check(*arguments)
    return reference.moving_average(*arguments)


def _check(
    x: Tensor, log_scale: Tensor, weight: Tensor, skip: Tensor | None, padding: Tensor | None, state: Tensor | None
) -> None:
    """What the operator checks itself."""
    if x.dtype not in (torch.float32, torch.float64, torch.bfloat16):
        raise TypeError(f"{_OWNER}: x must be float32, float64 or bfloat16, got {x.dtype}")
    check_tokens(_OWNER, "x", x)
    coefficients = {"log_scale": log_scale, "weight": weight, "skip": skip}
    given = {name: t for name, t in {**coefficients, "padding": padding, "state": state}.items() if t is not None}
    for name, tensor in given.items():
        dtypes = (x.dtype, torch.float32) if x.dtype == torch.bfloat16 else (x.dtype,)
        if name in coefficients and tensor.dtype not in dtypes:
            raise TypeError(f"{_OWNER}: {name} is {tensor.dtype} but x is {x.dtype}")
        if tensor.device != x.device:
            raise ValueError(f"{_OWNER}: {name} is on {tensor.device} but x is on {x.device}")
    if state is not None and state.dtype != torch.float64:
        raise TypeError(f"{_OWNER}: state must be float64, got {state.dtype}")
    if log_scale.dim() != 3 or log_scale.shape[0] not in (1, 2):
        raise ValueError(f"{_OWNER}: log_scale must be [R, S, G], R = 1 or 2, got {list(log_scale.shape)}")
    batch, _, width = x.shape
    directions, scales, groups = log_scale.shape
    if groups != width and (groups == 0 or width % groups):
        raise ValueError(
            f"{_OWNER}: the last size of log_scale must divide the width {width}, got {list(log_scale.shape)}"
        )
    if padding is not None:
        check_mask(_OWNER, "padding", padding, x)
    if state is not None and directions == 2:
        raise ValueError(f"{_OWNER}: a state belongs to one direction, log_scale has two")
    wanted = {"weight": (directions, scales, width), "skip": (width,), "state": (batch, scales, width)}
    forms = {"weight": "[R, S, D]", "skip": "[D]", "state": "[B, S, D]"}
    for name, form in forms.items():
        if name in given and given[name].shape != wanted[name]:
            expected, got = list(wanted[name]), list(given[name].shape)
            raise ValueError(f"{_OWNER}: {name} must be {form} = {expected}, got {got}")

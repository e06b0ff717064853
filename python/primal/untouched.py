"""Whether modules are what their class says: then their weights may be read, else they have to be called."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules import module as global_hooks


def untouched(owner: nn.Module, names: tuple[str, ...], kind: type[nn.Module]) -> bool:
    """No hooks, and the forward and __call__ of `kind`: nothing wrapped, replaced, or overridden in a subclass or
    instance.

    Parametrised modules are untouched: reading their weight computes it. Weights of a class of their own, such as
    quantised ones, are not: functions of PyTorch may mean something else for them."""
    modules = owner._modules  # a fifth of the time that attributes of a module take
    return all(_is_untouched(modules.get(name), kind) for name in names)


def any_global_hook() -> bool:
    """Hooks of all modules, such as a profiler's."""
    return bool(global_hooks._has_any_global_hook())  # type: ignore[no-untyped-call]


def _is_untouched(module: nn.Module | None, kind: type[nn.Module]) -> bool:
    return (
        module is not None
        and type(module).forward is kind.forward
        and type(module).__call__ is kind.__call__
        and "forward" not in module.__dict__
        and not (module._forward_hooks or module._forward_pre_hooks)
        and not (module._backward_hooks or module._backward_pre_hooks)
        and not any(map(_has_its_own_functions, module._parameters.values()))
    )


def _has_its_own_functions(weight: Tensor | None) -> bool:
    """By its class. torch.overrides.has_torch_function also tells of modes, such as a default device or an export."""
    if weight is None:
        return False
    kind = type(weight)
    return (
        kind is not nn.Parameter
        and kind is not Tensor
        and kind.__torch_function__ is not torch._C._disabled_torch_function_impl
    )

"""Parameters that FSDP may hold in parts: how to set them, and when they cannot be read."""

from __future__ import annotations

from torch import Tensor


def assign(parameter: Tensor, value: Tensor) -> None:
    """parameter = value, also where FSDP holds a part of it on each rank: then the first rank's value."""
    if hasattr(parameter, "device_mesh"):
        from torch.distributed.tensor import DTensor, distribute_tensor

        assert isinstance(parameter, DTensor)
        value = distribute_tensor(value, parameter.device_mesh, parameter.placements)
    parameter.copy_(value)


def check_whole(owner: str, parameter: Tensor, method: str) -> None:
    """FSDP puts a parameter together for a call of forward only."""
    if hasattr(parameter, "device_mesh"):
        raise RuntimeError(
            f"{owner}: FSDP gathers the weights for forward only; for this call, first "
            f'torch.distributed.fsdp.register_fsdp_forward_method(module, "{method}")'
        )

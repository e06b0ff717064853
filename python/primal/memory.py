"""The memory that the layers keep for their next call."""

from __future__ import annotations

import torch

from primal import _library as _library  # loads torch.ops.primal_util


def release_memory() -> None:
    """Return to the system what no tensor uses.

    Outputs, gradients and intermediates of the fused layers take large blocks of memory. A block that is freed stays in
    the process and serves the next tensor, at most a quarter more in all than was in use at one time. After the last of
    very long sequences this gives it back; between steps it would only cost time.
    """
    torch.ops.primal_util.release_memory()

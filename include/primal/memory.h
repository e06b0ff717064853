// The memory of large tensors: outputs, gradients and intermediates of the fused layers. PyTorch's allocator returns it
// to the system at every free, and the system clears its pages at the next use; primal keeps it for the next tensor,
// at most a quarter more than was in use at one time. fork() is safe while other threads compute; in the child, compute
// on one thread (at::set_num_threads(1), as data loaders do), since the OpenMP run-time does not survive a fork, and
// not with tensors that another thread was using: PyTorch locks them.
#pragma once

#include "primal/export.h"

namespace primal {

/// Returns to the system what no tensor uses. Worth a call after the last of very long sequences, not between steps.
PRIMAL_API void release_memory();

}  // namespace primal

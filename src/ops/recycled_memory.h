// Memory for the large tensors of the passes: a freed block serves the next tensor (see primal/memory.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace primal::ops {

/// A dense CPU tensor without values, an ordinary one in every other respect. Its memory begins on a 64-byte boundary.
at::Tensor recycled_tensor(at::IntArrayRef sizes, at::ScalarType dtype);

/// From now on every large CPU tensor of the process is one, also those that LibTorch makes. For programs of our own:
/// the allocator of somebody else's is not ours to choose. Batches of ever other lengths leave holes in the heap of the
/// C library, which grew to twenty times of what was in use.
void recycle_memory_of_all_tensors();

/// Bytes of the large blocks: those that tensors use, and those that wait for one.
struct RecycledBytes {
  size_t used, waiting;
};
RecycledBytes recycled_bytes();

}  // namespace primal::ops

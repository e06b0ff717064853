// How freed memory is treated.
#pragma once

namespace primal::base {

/// Lets the process keep memory that it frees, for its next tensors. A training step frees and asks for the same large
/// blocks again and again; by default glibc gives those above 128 KiB back to the system each time, and the system has
/// to clear every page anew. Call it once, early. Nothing where the C library is another.
void keep_freed_memory();

}  // namespace primal::base

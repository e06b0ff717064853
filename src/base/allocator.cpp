#include "base/allocator.h"

#include <cstdlib>  // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace primal::base {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kBytes = 1 << 30;  // the largest block, and the most free memory, that stays in the process
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
  mallopt(M_TOP_PAD, 64 << 20);  // ask the system seldom
#endif
}

}  // namespace primal::base

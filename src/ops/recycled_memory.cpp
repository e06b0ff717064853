#include "ops/recycled_memory.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#include "ops/fork.h"
#include "primal/memory.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(address)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(address)
#endif

namespace primal::ops {

namespace {

constexpr size_t kLeast = size_t{1} << 20;  // the C library keeps smaller blocks itself
constexpr size_t kStep = size_t{64} << 10;
constexpr size_t kHugePage = size_t{2} << 20;

char* rounded_up(char* address, size_t step) {
  return address + (step - reinterpret_cast<uintptr_t>(address) % step) % step;
}

// From the boundary of a huge page on: one page fault, and one entry of the processor's address cache, for 2 MB. Null:
// there is not enough memory.
char* new_block(size_t bytes) {
  const size_t reserve = bytes + kHugePage;
  void* mapped = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(mapped);
  char* const block = rounded_up(begin, kHugePage);
  if (block > begin) munmap(begin, static_cast<size_t>(block - begin));
  munmap(block + bytes, reserve - bytes - static_cast<size_t>(block - begin));
#ifdef MADV_HUGEPAGE
  madvise(block, bytes, MADV_HUGEPAGE);  // a hint: where it is not taken, pages are small
#endif
  return block;
}

std::mutex recycler_mutex;
[[maybe_unused]] const bool recycler_survives_fork = fork_waits_for<recycler_mutex>();

class Recycler final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t n) override {
    if (n < kLeast) return c10::GetDefaultCPUAllocator()->allocate(n);
    char* const block = take((n + kStep - 1) / kStep * kStep);
    ASAN_UNPOISON_MEMORY_REGION(block, n);
    return {block, block, give_back, at::kCPU};
  }

  /// For LibTorch's raw_allocate: it has to be one function for blocks of any size.
  c10::DeleterFnPtr raw_deleter() const override { return give_back; }

  void copy_data(void* to, const void* from, size_t count) const override { default_copy_data(to, from, count); }

  RecycledBytes bytes() {
    const std::lock_guard lock(recycler_mutex);
    return {used_, waiting_};
  }

  void release() {
    const std::lock_guard lock(recycler_mutex);
    let_go_until(0);
    most_used_ = used_;
  }

 private:
  static void give_back(void* block);

  char* take(size_t bytes) {
    const std::lock_guard lock(recycler_mutex);
    // The smallest one that is large enough, unless more than a quarter of it would be idle.
    const auto fitting = waiting_blocks_.lower_bound(bytes);
    if (fitting != waiting_blocks_.end() && fitting->first <= bytes + bytes / 3) {
      const auto [size, block] = *fitting;
      waiting_blocks_.erase(fitting);
      waiting_ -= size;
      use(block, size);
      return block;
    }
    // A quarter more than was ever in use, so that a large block and a small one by turns do not drive each other out.
    const size_t needed = used_ + bytes, limit = most_used_ + most_used_ / 4;
    let_go_until(limit > needed ? limit - needed : 0);
    char* block = new_block(bytes);
    if (block == nullptr) {
      let_go_until(0);
      block = new_block(bytes);
    }
    TORCH_CHECK_WITH(OutOfMemoryError, block != nullptr, "not enough memory: a tensor of ", bytes, " bytes");
    ASAN_POISON_MEMORY_REGION(block, bytes);
    use(block, bytes);
    return block;
  }

  void use(char* block, size_t bytes) {
    used_blocks_.emplace(block, bytes);
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
  }

  // The largest blocks first: fewest calls of the system.
  void let_go_until(size_t waiting) {
    while (waiting_ > waiting) {
      const auto largest = std::prev(waiting_blocks_.end());
      ASAN_UNPOISON_MEMORY_REGION(largest->second, largest->first);
      munmap(largest->second, largest->first);
      waiting_ -= largest->first;
      waiting_blocks_.erase(largest);
    }
  }

  std::multimap<size_t, char*> waiting_blocks_;
  std::unordered_map<char*, size_t> used_blocks_;
  size_t used_ = 0, waiting_ = 0, most_used_ = 0;
};

// Never destroyed: tensors may outlive static objects.
Recycler& recycler() {
  static auto* const one = new Recycler;
  return *one;
}

void Recycler::give_back(void* data) {
  Recycler& own = recycler();
  {
    const std::lock_guard lock(recycler_mutex);
    if (const auto found = own.used_blocks_.find(static_cast<char*>(data)); found != own.used_blocks_.end()) {
      const auto [block, bytes] = *found;
      own.used_blocks_.erase(found);
      ASAN_POISON_MEMORY_REGION(block, bytes);
      own.used_ -= bytes;
      own.waiting_ += bytes;
      own.waiting_blocks_.emplace(bytes, block);
      return;
    }
  }
  c10::GetDefaultCPUAllocator()->raw_deallocate(data);  // a small one
}

}  // namespace

at::Tensor recycled_tensor(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::detail::empty_generic(sizes, &recycler(), c10::DispatchKeySet(c10::DispatchKey::CPU), dtype, std::nullopt);
}

void recycle_memory_of_all_tensors() { c10::SetCPUAllocator(&recycler(), /*priority=*/1); }

RecycledBytes recycled_bytes() { return recycler().bytes(); }

TORCH_LIBRARY_FRAGMENT(primal_util, m) { m.def("release_memory() -> ()", release_memory); }

}  // namespace primal::ops

void primal::release_memory() { ops::recycler().release(); }

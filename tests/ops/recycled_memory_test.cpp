#include "ops/recycled_memory.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "primal/memory.h"

namespace primal::ops {
namespace {

constexpr int64_t kMegabyte = 1 << 18;  // floats

at::Tensor megabytes(int64_t count) { return recycled_tensor({count * kMegabyte}, at::kFloat); }
size_t bytes_of(const RecycledBytes& bytes) { return bytes.used + bytes.waiting; }

class RecycledMemory : public ::testing::Test {
 protected:
  void SetUp() override { release_memory(); }
  const size_t used_before_ = recycled_bytes().used;
};

TEST_F(RecycledMemory, OfAFreedTensorServesTheNextOne) {
  at::Tensor tensor = megabytes(5);
  const void* place = tensor.data_ptr();
  tensor.reset();
  EXPECT_EQ(recycled_bytes().waiting, size_t{5} << 20);
  EXPECT_EQ(megabytes(5).data_ptr(), place);
  EXPECT_EQ(megabytes(4).data_ptr(), place) << "a little smaller";
  const at::Tensor much_smaller = megabytes(2);
  EXPECT_EQ(recycled_bytes().used, used_before_ + (2 << 20)) << "not the large block, whose rest would be idle";
}

TEST_F(RecycledMemory, IsHardlyMoreThanWasInUseAtOneTime) {
  size_t most = used_before_;
  for (const int64_t count : {1, 3, 2, 5, 1}) {
    for (const int64_t size : {3, 11, 5, 2, 8, 7, 13, 1}) {
      const std::vector<at::Tensor> tensors = [&] {
        std::vector<at::Tensor> all;
        for (int64_t i = 0; i < count; ++i) all.push_back(megabytes(size + i));
        return all;
      }();
      most = std::max(most, recycled_bytes().used);
      EXPECT_LE(bytes_of(recycled_bytes()), most + most / 4) << count << " of " << size << " MB";
    }
  }
}

TEST_F(RecycledMemory, StaysWhenLargeAndSmallTakeTurns) {
  const void* large = megabytes(13).data_ptr();
  for (int i = 0; i < 3; ++i) {
    megabytes(2);
    EXPECT_EQ(megabytes(13).data_ptr(), large);
  }
}

TEST_F(RecycledMemory, OfSmallTensorsIsLeftToTheCLibrary) {
  const at::Tensor small = recycled_tensor({100, 100}, at::kFloat);
  EXPECT_EQ(bytes_of(recycled_bytes()), used_before_);
  EXPECT_EQ(recycled_tensor({0, 7}, at::kBFloat16).numel(), 0);
}

TEST_F(RecycledMemory, IsReturnedOnRequest) {
  const at::Tensor in_use = megabytes(4).fill_(7.0f);
  megabytes(6);
  release_memory();
  EXPECT_EQ(recycled_bytes().waiting, 0U);
  EXPECT_EQ(recycled_bytes().used, used_before_ + (4 << 20));
  EXPECT_TRUE(in_use.eq(7.0f).all().item<bool>());
}

TEST_F(RecycledMemory, MakesOrdinaryTensors) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    at::Tensor tensor = recycled_tensor({3, 1000, 512}, dtype);
    EXPECT_TRUE(tensor.is_contiguous());
    EXPECT_EQ(tensor.scalar_type(), dtype);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 64, 0U);
    tensor.fill_(2);
    tensor.resize_({4, 1000, 512});
    EXPECT_TRUE(tensor.slice(0, 0, 3).eq(2).all().item<bool>()) << "growing keeps the values";
    EXPECT_TRUE(tensor.clone().slice(0, 0, 3).eq(2).all().item<bool>());
  }
}

TEST_F(RecycledMemory, MayBeThatOfAllTensors) {
  recycle_memory_of_all_tensors();
  {
    const at::Tensor large = at::ones({5 * kMegabyte}, at::kFloat), small = at::ones({100}, at::kFloat);
    EXPECT_EQ(recycled_bytes().used, used_before_ + (5 << 20));
    const void* place = (large + small.sum()).data_ptr();
    EXPECT_EQ(at::empty({5 * kMegabyte}, at::kFloat).data_ptr(), place) << "freed before";
    for (const size_t bytes : {size_t{64}, size_t{3} << 20}) {  // as LibTorch's kernels ask for work space
      void* raw = c10::GetCPUAllocator()->raw_allocate(bytes);
      std::memset(raw, 1, bytes);
      c10::GetCPUAllocator()->raw_deallocate(raw);
    }
    EXPECT_EQ(recycled_bytes().used, used_before_ + (5 << 20));
  }
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), /*priority=*/1);
  EXPECT_EQ(recycled_bytes().used, used_before_);
}

TEST_F(RecycledMemory, IsSharedByThreads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 50; ++i) {
        const at::Tensor tensor = megabytes(1 + (i + t) % 3);
        auto* data = tensor.mutable_data_ptr<float>();
        for (int64_t k = 0; k < tensor.numel(); k += 4096) data[k] = static_cast<float>(t);
        for (int64_t k = 0; k < tensor.numel(); k += 4096) wrong[t] += data[k] != static_cast<float>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_EQ(recycled_bytes().used, used_before_);
}

TEST_F(RecycledMemory, ThatIsNotThereIsAnError) {
  EXPECT_THROW(recycled_tensor({int64_t{1} << 55}, at::kFloat), c10::Error);
  EXPECT_EQ(recycled_bytes().used, used_before_);
}

}  // namespace
}  // namespace primal::ops

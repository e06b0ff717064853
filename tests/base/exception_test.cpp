#include "base/exception.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace primal::base {
namespace {

TEST(Exception, LackOfMemoryIsKnownWhoeverSaysSo) {
  const std::runtime_error torch(
      "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
      "64 bytes. Error code 12 (Cannot allocate memory)\nframe #0: somewhere");
  EXPECT_TRUE(is_out_of_memory(torch));
  EXPECT_EQ(in_one_line(torch),
            "not enough memory: you tried to allocate 64 bytes. Error code 12 (Cannot allocate memory)");
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  EXPECT_EQ(in_one_line(std::bad_alloc()), "not enough memory");
  const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again), "thread");
  EXPECT_TRUE(is_out_of_memory(thread));
  const std::runtime_error file("big.csv: cannot be mapped: Cannot allocate memory");
  EXPECT_EQ(in_one_line(file), "not enough memory: big.csv: cannot be mapped: Cannot allocate memory");
}

TEST(Exception, OtherMessagesLoseTheirStackTrace) {
  const std::runtime_error error("shapes differ\nframe #0: somewhere");
  EXPECT_FALSE(is_out_of_memory(error));
  EXPECT_EQ(in_one_line(error), "shapes differ");
}

}  // namespace
}  // namespace primal::base

#include "train/autocast.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace primal::train {
namespace {

TEST(Autocast, GivesBfloat16InsideAndRestoresOutside) {
  const torch::Tensor a = torch::ones({2, 2});
  const Autocast autocast(Precision::bfloat16);
  EXPECT_EQ(autocast.run([&] { return at::matmul(a, a).scalar_type(); }), torch::kBFloat16);
  EXPECT_EQ(at::matmul(a, a).scalar_type(), torch::kFloat32);
  EXPECT_EQ(Autocast(Precision::float32).run([&] { return at::matmul(a, a).scalar_type(); }), torch::kFloat32);
}

}  // namespace
}  // namespace primal::train

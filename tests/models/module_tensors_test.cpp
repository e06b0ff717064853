#include "models/module_tensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

TEST(ModuleTensors, MustBeThoseOfTheModel) {
  torch::nn::Linear model(3, 2);
  Tensors tensors = tensors_of(*model);
  EXPECT_EQ(tensors.size(), 2u);
  tensors["bias"] = torch::ones({3});
  EXPECT_EQ(tests::error_of([&] { load_tensors(*model, tensors, "f"); }),
            "f: tensor bias is Float [3], the model needs Float [2]");
  tensors.erase("bias");
  EXPECT_EQ(tests::error_of([&] { load_tensors(*model, tensors, "f"); }), "f: tensor bias is missing");
  tensors["bias"] = torch::full({2}, 7.f);
  tensors["more"] = torch::ones({1});
  EXPECT_EQ(tests::error_of([&] { load_tensors(*model, tensors, "f"); }), "f: tensor more is not part of this model");
  tensors.erase("more");
  load_tensors(*model, tensors, "f");
  EXPECT_TRUE(tests::same(model->bias.detach(), torch::full({2}, 7.f)));
}

}  // namespace
}  // namespace primal::models

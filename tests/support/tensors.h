// Comparisons and numeric gradients of tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <functional>

namespace primal::tests {

/// Same shape, and |actual - expected| <= tolerance * (1 + |expected|) everywhere. NaN is close to nothing.
testing::AssertionResult close(const at::Tensor& actual, const at::Tensor& expected, double tolerance);

/// Same shape, dtype and values.
testing::AssertionResult same(const at::Tensor& actual, const at::Tensor& expected);

/// The gradient of a scalar function by central differences. at: float64
at::Tensor numeric_gradient(const std::function<double(const at::Tensor&)>& function, const at::Tensor& at);

/// <a, b>, the sum of all products.
double inner_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace primal::tests

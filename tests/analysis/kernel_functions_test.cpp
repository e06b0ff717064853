#include "analysis/kernel_functions.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analysis/kernel_features.h"
#include "support/errors.h"
#include "support/kernel_tables.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using tests::close;
using tests::error_of;
using tests::random_table;

/// Term by term, as the names of the kernels say.
double by_hand(const Kernel& kernel, const at::Tensor& x, const at::Tensor& z, int64_t i, int64_t j) {
  const double product = x[i].dot(z[j]).item<double>();
  const auto affinity = [&](int64_t column) {
    return std::exp(-(x[i] - z[column]).square().sum().item<double>() / (kernel.width * kernel.width));
  };
  switch (kernel.kind) {
    case KernelKind::linear:
      return product;
    case KernelKind::cosine:
      return product / (x[i].norm().item<double>() * z[j].norm().item<double>());
    case KernelKind::poly:
      return std::pow(product / (kernel.width * kernel.width) + kernel.offset, static_cast<double>(kernel.degree));
    case KernelKind::rbf:
      return affinity(j);
    case KernelKind::sne: {
      double sum = 0;
      for (int64_t column = 0; column < z.size(0); ++column) sum += affinity(column);
      return affinity(j) / sum;
    }
    case KernelKind::matrix:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

TEST(KernelFunctions, AreWhatTheirNamesSay) {
  const at::Tensor x = random_table(6, 3, 1) + 2, z = random_table(5, 3, 2) + 2;
  for (const KernelKind kind :
       {KernelKind::linear, KernelKind::cosine, KernelKind::poly, KernelKind::rbf, KernelKind::sne}) {
    const Kernel kernel{.kind = kind, .width = 1.3, .degree = 3, .offset = 0.5};
    const at::Tensor values = kernel_values(kernel, x, z);
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        EXPECT_NEAR(values[i][j].item<double>(), by_hand(kernel, x, z, i, j), 1e-12)
            << base::name_in(kKernelNames, kind);
      }
    }
  }
}

// The distance of rows far from 0 is a small difference of large products.
TEST(KernelFunctions, DistancesKeepTheirDigitsFarFromZero) {
  const Kernel kernel{.kind = KernelKind::rbf, .width = 1};
  const at::Tensor x = random_table(8, 4, 3);
  EXPECT_TRUE(close(kernel_values(kernel, x + 1e6, x + 1e6), kernel_values(kernel, x, x), 1e-9));
  EXPECT_TRUE(close(kernel_values(kernel, x, x).diagonal(), at::ones({8}, at::kDouble), 1e-14));
}

TEST(KernelFunctions, ARowOfZerosHasNoDirection) {
  const at::Tensor x = at::zeros({1, 3}, at::kDouble);
  EXPECT_EQ(kernel_values({.kind = KernelKind::cosine}, x, x).item<double>(), 0);
}

TEST(KernelFeatures, HaveTheKernelAsTheirProduct) {
  const at::Tensor x = random_table(7, 4, 4), z = random_table(9, 4, 5);
  for (const Kernel& kernel :
       {Kernel{.kind = KernelKind::linear}, Kernel{.kind = KernelKind::cosine},
        Kernel{.kind = KernelKind::poly, .degree = 1},
        Kernel{.kind = KernelKind::poly, .width = 2, .degree = 3, .offset = 0.7},
        Kernel{.kind = KernelKind::poly, .degree = 2, .offset = 0}, Kernel{.kind = KernelKind::poly, .degree = 5}}) {
    const FiniteFeatures phi(kernel, 4);
    EXPECT_EQ(phi.of(x).size(1), phi.count());
    EXPECT_TRUE(close(at::mm(phi.of(x), phi.of(z).t()), kernel_values(kernel, x, z), 1e-11)) << kernel.degree;
  }
}

TEST(KernelFeatures, AreCounted) {
  const auto poly = [](int64_t degree, double offset) {
    return Kernel{.kind = KernelKind::poly, .degree = degree, .offset = offset};
  };
  EXPECT_EQ(feature_count({.kind = KernelKind::cosine}, 64), 64);
  EXPECT_EQ(feature_count({.kind = KernelKind::cosine}, kMostFeatures + 1), 0);
  EXPECT_EQ(feature_count(poly(2, 1), 64), 2145);  // 65 * 66 / 2
  EXPECT_EQ(feature_count(poly(2, 0), 64), 2080);
  EXPECT_EQ(feature_count(poly(3, 1), 64), 0) << "45,760";
  EXPECT_EQ(feature_count(poly(100, 0), 1), 1);
  EXPECT_EQ(feature_count(poly(100, 1), 1), 101);
  EXPECT_EQ(feature_count({.kind = KernelKind::rbf}, 2), 0);
  EXPECT_EQ(error_of([] { FiniteFeatures({.kind = KernelKind::sne}, 3); }),
            "features: expected a kernel with at most 4096 features, got sne of rows of 3");
}

TEST(KernelFunctions, RefuseOptionsThatMakeNoKernel) {
  EXPECT_EQ(error_of([] { check(Kernel{.kind = KernelKind::rbf, .width = -1}); }),
            "kernel: expected a width above 0, got -1");
  EXPECT_EQ(error_of([] { check(Kernel{.kind = KernelKind::poly, .degree = 0}); }),
            "kernel: expected a degree from 1 to 100, got 0");
  EXPECT_EQ(error_of([] { check(Kernel{.kind = KernelKind::poly, .offset = -0.5}); }),
            "kernel: expected an offset of at least 0, got -0.5");
}

}  // namespace
}  // namespace primal::analysis

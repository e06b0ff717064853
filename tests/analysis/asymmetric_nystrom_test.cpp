#include "analysis/asymmetric_nystrom.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "analysis/kernel_svd.h"
#include "support/errors.h"
#include "support/kernel_tables.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using tests::close;
using tests::error_of;
using tests::random_table;
using tests::same;

KernelSvdOptions sampled(KernelKind kind, double share, int64_t rank, bool orthogonal = false) {
  KernelSvdOptions options;
  options.kernel.kind = kind;
  options.rank = rank;
  options.share = share;
  options.orthogonal = orthogonal;
  return options;
}

struct Features {
  at::Tensor left, right;
};

Features features_of(const KernelSvd& svd, const at::Tensor& x, const at::Tensor& z) {
  return {FeatureMaker(svd, Side::left).of(x), FeatureMaker(svd, Side::right).of(z)};
}

// U diag(sigma) V^T
at::Tensor rebuilt(const KernelSvd& svd, const Features& features) {
  return at::mm(features.left / svd.scaled_values(), features.right.t());
}

TEST(Sample, IsSortedOfTheRightSizeAndSeeded) {
  const at::Tensor sample = sample_of(1000, 100, 1, 1);
  EXPECT_EQ(sample.numel(), 100);
  EXPECT_TRUE((sample.narrow(0, 1, 99) > sample.narrow(0, 0, 99)).all().item<bool>());
  EXPECT_GE(sample[0].item<int64_t>(), 0);
  EXPECT_LT(sample[99].item<int64_t>(), 1000);
  EXPECT_TRUE(same(sample_of(1000, 100, 1, 1), sample));
  EXPECT_FALSE(same(sample_of(1000, 100, 2, 1), sample));
  EXPECT_FALSE(same(sample_of(1000, 100, 1, 2), sample));
  EXPECT_TRUE(same(sample_of(5, 5, 1, 1), at::arange(5)));
}

TEST(Sample, TakesEveryRowEquallyOften) {
  at::Tensor times = at::zeros({10}, at::kLong);
  for (uint64_t seed = 0; seed < 4000; ++seed) times.index_add_(0, sample_of(10, 3, seed, 1), at::ones({3}, at::kLong));
  EXPECT_LT((times - 1200).abs().max().item<int64_t>(), 150);  // 5 standard deviations
}

TEST(Nystrom, OfAllRowsIsExact) {
  const at::Tensor x = random_table(40, 3, 1), z = random_table(30, 3, 2);
  for (const KernelKind kind : {KernelKind::linear, KernelKind::rbf, KernelKind::sne}) {
    KernelSvdOptions exact = sampled(kind, 1, 3);
    exact.share = {};
    exact.form = Form::dual;
    const KernelSvd all = kernel_svd({x, z}, sampled(kind, 1, 3)), svd = kernel_svd({x, z}, exact);
    EXPECT_FALSE(all.sampled);
    EXPECT_TRUE(same(all.singular_values, svd.singular_values));
    EXPECT_TRUE(same(features_of(all, x, z).left, features_of(svd, x, z).left));
  }
}

// The kernel matrix has rank 3 (of the cubic polynomial 20), and so has the sampled block.
TEST(Nystrom, WithABlockOfFullRankRebuildsTheMatrix) {
  const at::Tensor x = random_table(80, 3, 3), z = random_table(60, 3, 4);
  for (const auto& [kind, rank] :
       {std::pair<KernelKind, int64_t>{KernelKind::linear, 3}, {KernelKind::cosine, 3}, {KernelKind::poly, 10}}) {
    const at::Tensor matrix = kernel_values({.kind = kind}, x, z);
    for (const bool orthogonal : {false, true}) {
      const KernelSvd svd = kernel_svd({x, z}, sampled(kind, 0.5, rank, orthogonal));
      EXPECT_TRUE(svd.sampled);
      EXPECT_TRUE(close(rebuilt(svd, features_of(svd, x, z)), matrix, 1e-9));
    }
  }
}

TEST(Nystrom, MadeOrthogonalItIsTheSvdOfWhatMoreVectorsRebuild) {
  const at::Tensor x = random_table(80, 3, 5), z = random_table(60, 3, 6);
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::sne, KernelKind::poly}) {
    const int64_t rank = 4, more = kind == KernelKind::poly ? 10 : extended_rank(rank, 40, 30);
    const KernelSvd plain = kernel_svd({x, z}, sampled(kind, 0.5, more)),
                    svd = kernel_svd({x, z}, sampled(kind, 0.5, rank, true));
    EXPECT_EQ(svd.rank(), rank);
    const Features features = features_of(svd, x, z);
    const at::Tensor matrix = rebuilt(plain, features_of(plain, x, z));
    const auto errors = tests::errors_of(matrix, svd, features.left, features.right);
    EXPECT_LT(errors.values, 1e-10);
    EXPECT_LT(errors.residual, 1e-9);
    EXPECT_LT(errors.orthogonality, 1e-8);
  }
  const KernelSvd one = kernel_svd({x, {}}, sampled(KernelKind::rbf, 0.5, 6, true));
  EXPECT_TRUE(same(features_of(one, x, x).left, features_of(one, x, x).right));
}

TEST(Nystrom, MadeOrthogonalItIsCloserToTheMatrix) {
  const at::Tensor x = random_table(400, 2, 14);
  const at::Tensor exact = kernel_svd({x, {}}, sampled(KernelKind::rbf, 1, 5)).singular_values;
  const auto error = [&](bool orthogonal) {
    const at::Tensor values = kernel_svd({x, {}}, sampled(KernelKind::rbf, 0.1, 5, orthogonal)).singular_values;
    return (values / exact - 1).abs().max().item<double>();
  };
  EXPECT_LT(error(true), 0.02);
  EXPECT_GT(error(false), 2 * error(true));
}

TEST(Nystrom, ComesCloserWithTheShare) {
  const at::Tensor x = random_table(600, 2, 7), z = random_table(500, 2, 8);
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::sne}) {
    KernelSvdOptions exact = sampled(kind, 1, 5);
    const KernelSvd all = kernel_svd({x, z}, exact);
    double before = 1e9;
    for (const double share : {0.1, 0.8}) {
      const KernelSvd svd = kernel_svd({x, z}, sampled(kind, share, 5));
      const double error = (svd.singular_values / all.singular_values - 1).abs().max().item<double>();
      EXPECT_LT(error, share < 0.5 ? 0.6 : 0.1);
      EXPECT_LT(error, before);
      EXPECT_NEAR(svd.energy / all.energy, 1, share < 0.5 ? 0.3 : 0.1);
      before = error;
    }
  }
}

TEST(Nystrom, TheEnergyOfOneTableCountsItsDiagonalOnce) {
  const at::Tensor x = random_table(400, 8, 9);
  KernelSvdOptions narrow = sampled(KernelKind::rbf, 0.1, 2);
  narrow.kernel.width = 0.1;  // little but the diagonal
  EXPECT_NEAR(kernel_svd({x, {}}, narrow).energy / 400, 1, 0.05);
}

TEST(Nystrom, OfAMatrixTakesRowsAndColumnsOfIt) {
  const at::Tensor matrix = at::mm(random_table(50, 2, 10), random_table(2, 40, 11));
  const KernelSvd svd = kernel_svd({matrix, {}}, sampled(KernelKind::matrix, 0.2, 2));
  EXPECT_EQ(svd.kept_rows.numel(), 10);
  EXPECT_EQ(svd.kept_columns.numel(), 8);
  EXPECT_TRUE(close(rebuilt(svd, features_of(svd, matrix, matrix.t())), matrix, 1e-10));
}

// 4 kinds of senders, 3 kinds of receivers, crossed: what a symmetric matrix would mix up.
TEST(Nystrom, FindsSendersAndReceiversOfADirectedGraph) {
  constexpr int64_t kNodes = 600;
  at::manual_seed(12);
  const at::Tensor node = at::arange(kNodes), sender = node.remainder(4), receiver = node.div(4, "floor").remainder(3);
  const at::Tensor chance =
      at::tensor({0.5, 0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.1, 0.5, 0.4, 0.4, 0.0}, at::kDouble).view({4, 3});
  const at::Tensor links =
      (at::rand({kNodes, kNodes}, at::kDouble) < chance.index({sender.unsqueeze(1), receiver})).to(at::kDouble);
  for (const double share : {1.0, 0.5}) {
    const KernelSvd svd = kernel_svd({links, {}}, sampled(KernelKind::matrix, share, 3));
    const Features features = features_of(svd, links, links.t());
    const auto share_at_own_centre = [&](const at::Tensor& points, const at::Tensor& group, int64_t groups) {
      const at::Tensor member = at::one_hot(group, groups).to(at::kDouble);
      const at::Tensor centres = at::mm(member.t(), points) / member.sum(0).unsqueeze(1);
      return (at::cdist(points, centres).argmin(1) == group).to(at::kDouble).mean().item<double>();
    };
    EXPECT_GT(share_at_own_centre(features.left, sender, 4), 0.97);
    EXPECT_GT(share_at_own_centre(features.right, receiver, 3), 0.97);
  }
}

TEST(Nystrom, RefusesSharesThatAreNone) {
  const at::Tensor x = random_table(10, 2, 13);
  for (const double share : {0.0, -0.1, 1.01}) {
    EXPECT_TRUE(tests::contains(error_of([&] {
                                  kernel_svd({x, {}}, sampled(KernelKind::rbf, share, 1));
                                }),
                                "Nystrom: expected a share above 0 and up to 1, got "));
  }
  EXPECT_EQ(error_of([&] {
              kernel_svd({x, {}}, sampled(KernelKind::rbf, 0.3, 4));
            }),
            "rank: expected 1 to 3, the smaller side of 3 x 3 kernel values, got 4");
}

}  // namespace
}  // namespace primal::analysis

#include "analysis/kernel_svd.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/unit_length.h"
#include "support/errors.h"
#include "support/kernel_tables.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal::analysis {
namespace {

using tests::close;
using tests::error_of;
using tests::errors_of;
using tests::random_table;
using tests::same;

constexpr KernelKind kAllKinds[] = {KernelKind::linear, KernelKind::cosine, KernelKind::poly, KernelKind::rbf,
                                    KernelKind::sne};

class KernelSvdTest : public testing::Test {
 protected:
  at::Tensor x = random_table(90, 5, 1), z = random_table(70, 5, 2) + 0.3;

  static KernelSvdOptions options(KernelKind kind, int64_t rank = 4) {
    KernelSvdOptions made;
    made.kernel.kind = kind;
    made.rank = rank;
    return made;
  }
  static at::Tensor left(const KernelSvd& svd, const at::Tensor& rows) {
    return FeatureMaker(svd, Side::left).of(rows);
  }
  static at::Tensor right(const KernelSvd& svd, const at::Tensor& rows) {
    return FeatureMaker(svd, Side::right).of(rows);
  }
};

TEST_F(KernelSvdTest, IsTheSvdOfTheKernelMatrix) {
  for (const KernelKind kind : kAllKinds) {
    for (const at::Tensor& columns : {z, at::Tensor()}) {
      for (const Form form : {Form::primal, Form::dual}) {
        if (form == Form::primal && (kind == KernelKind::rbf || kind == KernelKind::sne)) continue;
        KernelSvdOptions asked = options(kind);
        asked.form = form;
        const KernelSvd svd = kernel_svd({x, columns}, asked);
        const auto errors = errors_of(svd, x, columns);
        EXPECT_LT(errors.values, 1e-13) << base::name_in(kKernelNames, kind);
        EXPECT_LT(errors.residual, 1e-12) << base::name_in(kKernelNames, kind);
        EXPECT_LT(errors.orthogonality, 1e-12) << base::name_in(kKernelNames, kind);
        const at::Tensor matrix = kernel_values(svd.kernel, x, columns.defined() ? columns : x);
        EXPECT_NEAR(svd.energy / matrix.square().sum().item<double>(), 1, 1e-13);
      }
    }
  }
}

TEST_F(KernelSvdTest, PrimalAndDualFormsGiveTheSameFeatures) {
  for (const KernelKind kind : {KernelKind::linear, KernelKind::cosine, KernelKind::poly}) {
    KernelSvdOptions primal = options(kind), dual = options(kind);
    primal.form = Form::primal;
    dual.form = Form::dual;
    const KernelSvd a = kernel_svd({x, z}, primal), b = kernel_svd({x, z}, dual);
    EXPECT_TRUE(close(left(a, x).abs(), left(b, x).abs(), 1e-11));
    EXPECT_TRUE(close(right(a, z).abs(), right(b, z).abs(), 1e-11));
    const at::Tensor more = random_table(10, 5, 3);
    EXPECT_TRUE(close(left(a, more).abs(), left(b, more).abs(), 1e-11)) << "also of new rows";
  }
}

// Sigma_phi W_psi = W_phi Lambda and Sigma_psi W_phi = W_psi Lambda.
TEST_F(KernelSvdTest, SolvesTheCoupledCovariances) {
  for (const KernelKind kind : {KernelKind::linear, KernelKind::cosine, KernelKind::poly}) {
    KernelSvdOptions asked = options(kind);
    asked.form = Form::primal;
    const KernelSvd svd = kernel_svd({x, z}, asked);
    const FiniteFeatures map(svd.kernel, 5);
    const at::Tensor phi = map.of(x), psi = map.of(z), lambda = svd.scaled_values();
    const at::Tensor of_phi = at::mm(phi.t(), phi) / 90, of_psi = at::mm(psi.t(), psi) / 70;
    EXPECT_TRUE(close(at::mm(of_phi, svd.left_weights), svd.right_weights * lambda, 1e-12));
    EXPECT_TRUE(close(at::mm(of_psi, svd.right_weights), svd.left_weights * lambda, 1e-12));
    EXPECT_TRUE(close(left(svd, x).square().mean(0), lambda.square(), 1e-12)) << "a feature's mean square";
  }
}

TEST_F(KernelSvdTest, OfAMatrixIsItsSvd) {
  const at::Tensor matrix = random_table(30, 20, 4);
  const KernelSvd svd = kernel_svd({.rows = matrix, .columns = {}}, options(KernelKind::matrix, 6));
  const auto errors = errors_of(matrix, svd, left(svd, matrix), right(svd, matrix.t()));
  EXPECT_LT(errors.values, 1e-13);
  EXPECT_LT(errors.residual, 1e-12);
  EXPECT_LT(errors.orthogonality, 1e-12);
}

TEST_F(KernelSvdTest, OfPositiveKernelsIsPrincipalComponents) {
  const KernelSvd svd = kernel_svd({x, {}}, options(KernelKind::rbf));
  const at::Tensor eigenvalues = at::linalg_eigvalsh(kernel_values(svd.kernel, x, x)).flip(0);
  EXPECT_TRUE(close(svd.singular_values, eigenvalues.narrow(0, 0, 4), 1e-12));
  EXPECT_TRUE(same(left(svd, x), right(svd, x)));
}

TEST_F(KernelSvdTest, TransposingSwapsTheSides) {
  const KernelSvd svd = kernel_svd({x, z}, options(KernelKind::rbf));
  KernelSvdOptions turned_options = options(KernelKind::rbf);
  turned_options.kernel.width = svd.kernel.width;
  const KernelSvd turned = kernel_svd({z, x}, turned_options);
  EXPECT_TRUE(close(turned.singular_values, svd.singular_values, 1e-12));
  EXPECT_TRUE(close(left(turned, z).abs(), right(svd, z).abs(), 1e-11));
  EXPECT_TRUE(close(right(turned, x).abs(), left(svd, x).abs(), 1e-11));
}

TEST_F(KernelSvdTest, OrderOfRowsAndRotationsChangeNothing) {
  const at::Tensor order = at::randperm(90), turn = std::get<0>(at::linalg_qr(random_table(5, 5, 5)));
  for (const KernelKind kind : kAllKinds) {
    KernelSvdOptions asked = options(kind);
    asked.kernel.width = 2;
    const KernelSvd svd = kernel_svd({x, z}, asked);
    const KernelSvd permuted = kernel_svd({x.index_select(0, order), z}, asked);
    EXPECT_TRUE(close(permuted.singular_values, svd.singular_values, 1e-12));
    EXPECT_TRUE(close(left(permuted, x).abs(), left(svd, x).abs(), 1e-10));
    const KernelSvd turned = kernel_svd({at::mm(x, turn), at::mm(z, turn)}, asked);
    EXPECT_TRUE(close(turned.singular_values, svd.singular_values, 1e-12));
    EXPECT_TRUE(close(left(turned, at::mm(x, turn)).abs(), left(svd, x).abs(), 1e-10));
  }
}

TEST_F(KernelSvdTest, ValuesGrowWithTheRowsAndFeaturesDoNot) {
  const KernelSvd once = kernel_svd({x, z}, options(KernelKind::cosine));
  const KernelSvd thrice = kernel_svd({at::cat({x, x, x}), at::cat({z, z})}, options(KernelKind::cosine));
  EXPECT_TRUE(close(thrice.singular_values, once.singular_values * std::sqrt(6.0), 1e-12));
  EXPECT_TRUE(close(thrice.scaled_values(), once.scaled_values(), 1e-12));
  EXPECT_TRUE(close(left(thrice, x).abs(), left(once, x).abs(), 1e-11));
}

// What the data-dependent layer of the conformance vectors would have to learn: K = (Phi_q F^T)(Phi_k F^T)^T per head.
TEST_F(KernelSvdTest, ConformanceVectors) {
  const auto made = [](int64_t rows, int64_t columns, int64_t offset) {
    at::Tensor table = at::empty({rows, columns}, at::kDouble);
    for (int64_t i = 0; i < table.numel(); ++i) {
      table.view(-1)[i] = (static_cast<double>((7 * i + offset) % 11) - 5) / 10;
    }
    return table;
  };
  const at::Tensor tokens = made(4, 4, 3), sampled = at::tensor({0, 1, 3}, at::kLong);
  const double expected[2][2] = {{1.121932, 0.329474}, {1.625306, 0.030820}};
  for (int64_t head = 0; head < 2; ++head) {
    const auto of_head = [&](const at::Tensor& table) { return table.narrow(1, 2 * head, 2); };
    const at::Tensor f = of_head(tokens).index_select(0, sampled);
    const auto table = [&](int64_t offset) {
      return at::mm(ops::unit_length(of_head(at::mm(tokens, made(4, 4, offset).t()))), f.t());
    };
    const KernelSvd svd = kernel_svd({table(1), table(2)}, options(KernelKind::linear, 2));
    for (int64_t i = 0; i < 2; ++i) EXPECT_NEAR(svd.singular_values[i].item<double>(), expected[head][i], 6e-7);
  }
}

// Directions that are weak in one table and strong in the other: products of the tables with themselves lose them.
TEST_F(KernelSvdTest, WeakDirectionsKeepTheirDigits) {
  const at::Tensor weak = at::tensor({1.0, 1e-6}, at::kDouble);
  const at::Tensor rows = random_table(90, 2, 6) * weak, columns = random_table(70, 2, 7) * weak.flip(0);
  KernelSvdOptions asked = options(KernelKind::linear, 2);
  asked.form = Form::primal;
  const KernelSvd svd = kernel_svd({rows, columns}, asked);
  const at::Tensor exact = at::linalg_svdvals(at::mm(rows, columns.t())).narrow(0, 0, 2);
  EXPECT_TRUE(close(svd.singular_values / exact, at::ones({2}, at::kDouble), 1e-9));
}

TEST_F(KernelSvdTest, ShortNumbersAreComputedInFloatUnlessTold) {
  const at::Tensor floats = x.to(at::kFloat);
  const KernelSvd exact = kernel_svd({floats.to(at::kDouble), {}}, options(KernelKind::cosine));
  KernelSvdOptions asked = options(KernelKind::cosine);
  const KernelSvd quick = kernel_svd({floats, {}}, asked);
  EXPECT_TRUE(close(quick.singular_values, exact.singular_values, 1e-5));
  EXPECT_EQ(left(quick, floats).scalar_type(), at::kFloat);
  EXPECT_TRUE(close(left(quick, floats).abs(), left(exact, x).abs(), 1e-4));
  asked.in_double = true;
  EXPECT_TRUE(same(kernel_svd({floats, {}}, asked).singular_values, exact.singular_values));
  EXPECT_TRUE(close(kernel_svd({x.to(at::kHalf), {}}, options(KernelKind::cosine)).singular_values,
                    exact.singular_values, 1e-2));
  const at::Tensor whole = (x * 10).to(at::kInt);
  EXPECT_TRUE(same(kernel_svd({whole, {}}, options(KernelKind::cosine)).singular_values,
                   kernel_svd({whole.to(at::kDouble), {}}, options(KernelKind::cosine)).singular_values));
}

TEST_F(KernelSvdTest, StandardisedTablesAreThoseOfTheirColumns) {
  const at::Tensor mean = x.mean(0), deviation = (x - mean).square().mean(0).sqrt();
  const at::Tensor by_hand = (x - mean) / deviation, other = (z - mean) / deviation;
  for (const KernelKind kind : {KernelKind::cosine, KernelKind::rbf}) {
    KernelSvdOptions asked = options(kind);
    asked.standardise = true;
    const KernelSvd svd = kernel_svd({x, z}, asked), expected = kernel_svd({by_hand, other}, options(kind));
    EXPECT_TRUE(close(svd.singular_values, expected.singular_values, 1e-12));
    EXPECT_TRUE(close(right(svd, z).abs(), right(expected, other).abs(), 1e-11))
        << "features are given rows as they are";
  }
}

TEST_F(KernelSvdTest, ThePrimalFormHasTheSameBitsWithAnyNumberOfThreads) {
  const tests::ThreadsGuard guard;
  const at::Tensor rows = random_table(30000, 12, 8), columns = random_table(9000, 12, 9);
  const auto solve = [&](int threads, const at::Tensor& second) {
    at::set_num_threads(threads);
    const KernelSvd svd = kernel_svd({rows, second}, options(KernelKind::cosine));
    return at::cat({svd.singular_values.unsqueeze(0), svd.left_weights, left(svd, rows)});
  };
  for (const at::Tensor& second : {columns, at::Tensor()}) {
    const at::Tensor one = solve(1, second);
    EXPECT_TRUE(same(solve(2, second), one));
    EXPECT_TRUE(same(solve(3, second), one));
  }
}

TEST_F(KernelSvdTest, TheDualFormAgreesWithAnyNumberOfThreads) {
  const tests::ThreadsGuard guard;
  const auto solve = [&](int threads) {
    at::set_num_threads(threads);
    const KernelSvd svd = kernel_svd({x, z}, options(KernelKind::sne));
    return at::cat({left(svd, x), right(svd, z)});
  };
  EXPECT_TRUE(close(solve(2), solve(1), 1e-12));
}

TEST_F(KernelSvdTest, TheCheaperFormIsTaken) {
  EXPECT_EQ(kernel_svd({x, z}, options(KernelKind::poly)).form, Form::primal);
  EXPECT_EQ(kernel_svd({x, z}, options(KernelKind::rbf)).form, Form::dual);
  const at::Tensor wide = random_table(20, 300, 10);
  EXPECT_EQ(kernel_svd({wide, {}}, options(KernelKind::linear)).form, Form::dual);
  EXPECT_EQ(kernel_svd({x, {}}, options(KernelKind::cosine, 0)).rank(), 5) << "10, or as many as there are";
}

TEST_F(KernelSvdTest, TheWidthIsTheMedianDistance) {
  const at::Tensor distances = at::cdist(x, x, 2, 2).flatten();
  const double median = distances.masked_select(distances > 0).median().item<double>();
  EXPECT_EQ(kernel_svd({x, {}}, options(KernelKind::rbf)).kernel.width, median);
}

TEST_F(KernelSvdTest, ErrorsNameWhatWasExpected) {
  const auto message = [&](const Tables& tables, const KernelSvdOptions& asked) {
    return error_of([&] { kernel_svd(tables, asked); });
  };
  EXPECT_EQ(message({x, random_table(4, 6, 1)}, options(KernelKind::rbf)),
            "tables: expected as many numbers in a row of both, got 5 and 6");
  EXPECT_EQ(message({x, z}, options(KernelKind::linear, 6)),
            "rank: expected 1 to 5, the least of rows, columns and 5 features, got 6");
  EXPECT_EQ(message({x, z}, options(KernelKind::rbf, 71)),
            "rank: expected 1 to 70, the smaller side of 90 x 70 kernel values, got 71");
  KernelSvdOptions asked = options(KernelKind::rbf);
  asked.form = Form::primal;
  EXPECT_EQ(message({x, z}, asked), "primal form: expected a kernel with at most 4096 features, got rbf of rows of 5");
  EXPECT_EQ(message({at::ones({3, 2}, at::kDouble), {}}, options(KernelKind::rbf)),
            "width: all rows are the same, so the data suggest none");
  EXPECT_EQ(message({at::empty({0, 2}, at::kDouble), {}}, options(KernelKind::rbf)),
            "rows: expected a table of at least one row and one column");
  EXPECT_EQ(message({at::ones({20000, 2}, at::kDouble).expand({20000, 2}), {}},
                    [&] {
                      KernelSvdOptions large = options(KernelKind::rbf);
                      large.kernel.width = 1;
                      return large;
                    }()),
            "kernel values: expected at most 2 GB of them, got 20000 x 20000; a Nystrom share of 0.8192 or less fits");
  EXPECT_EQ(message({x * 1e200, {}}, options(KernelKind::linear)),
            "kernel SVD: expected kernel values that double precision can hold, got larger ones; smaller numbers, "
            "standardised columns or a lower degree help");
}

}  // namespace
}  // namespace primal::analysis

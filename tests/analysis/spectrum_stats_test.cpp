// The effective rank on spectra whose answer is known.
#include "analysis/spectrum_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/errors.h"

namespace {

using primal::analysis::effective_rank;
using Values = std::vector<double>;

TEST(EffectiveRank, CountsEqualValues) {
  EXPECT_NEAR(effective_rank(Values{2, 2, 2}), 3, 1e-12);
  EXPECT_NEAR(effective_rank(Values{5, 0, 0}), 1, 1e-12);
}

TEST(EffectiveRank, OfTwoUnequalValues) {
  const double entropy = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25));
  EXPECT_NEAR(effective_rank(Values{3, 1}), std::exp(entropy), 1e-12);
}

TEST(EffectiveRank, DoesNotDependOnTheScale) {
  EXPECT_NEAR(effective_rank(Values{3e300, 1e300}), effective_rank(Values{3, 1}), 1e-12);
  EXPECT_NEAR(effective_rank(Values{3e-310, 1e-310}), effective_rank(Values{3, 1}), 1e-9);
}

TEST(EffectiveRank, OfNothingIsZero) {
  EXPECT_EQ(effective_rank(Values{0, 0}), 0);
  EXPECT_EQ(effective_rank(Values{}), 0);
}

TEST(EffectiveRank, RefusesWhatIsNoSingularValue) {
  for (double bad : {std::nan(""), -1.0, HUGE_VAL}) {
    EXPECT_NE(primal::tests::error_of([&] {
                effective_rank(Values{1, bad});
              }).find("singular value 1 should be"),
              std::string::npos);
  }
}

}  // namespace

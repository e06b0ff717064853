// The UEA sets themselves, where PRIMAL_DATA has them, against their published facts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "data/series/locate.h"
#include "data/series/series_reader.h"
#include "data/series/summary.h"

namespace {

struct Facts {
  std::string name;
  int64_t train, test, channels, shortest, longest, classes;
  friend void PrintTo(const Facts& facts, std::ostream* out) { *out << facts.name; }
};

class UeaSet : public testing::TestWithParam<Facts> {};

TEST_P(UeaSet, HasItsPublishedSize) {
  const char* const directories = std::getenv("PRIMAL_DATA");
  if (directories == nullptr) GTEST_SKIP() << "PRIMAL_DATA is not set: the UEA sets are not here";
  const Facts& facts = GetParam();
  const auto files = primal::data::locate(primal::data::search_path({}, directories, {}), facts.name);
  const auto train = primal::data::summarise(primal::data::read_series(files.train));
  const auto test = primal::data::summarise(primal::data::read_series(files.test));
  EXPECT_EQ(train.cases, facts.train);
  EXPECT_EQ(test.cases, facts.test);
  EXPECT_EQ(std::min(train.shortest, test.shortest), facts.shortest);
  EXPECT_EQ(std::max(train.longest, test.longest), facts.longest);
  for (const auto& summary : {train, test}) {
    EXPECT_EQ(summary.channels, facts.channels);
    EXPECT_EQ(summary.missing, 0);
    ASSERT_EQ(static_cast<int64_t>(summary.classes.size()), facts.classes);
    for (const auto& one : summary.classes) EXPECT_GT(one.cases, 0) << one.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Archive, UeaSet,
                         testing::Values(Facts{"JapaneseVowels", 270, 370, 12, 7, 29, 9},
                                         Facts{"UWaveGestureLibrary", 120, 320, 3, 315, 315, 8},
                                         Facts{"Handwriting", 150, 850, 3, 152, 152, 26},
                                         Facts{"SelfRegulationSCP1", 268, 293, 6, 896, 896, 2},
                                         Facts{"SpokenArabicDigits", 6599, 2199, 13, 4, 93, 10},
                                         Facts{"BasicMotions", 40, 40, 6, 100, 100, 4},
                                         Facts{"Epilepsy", 137, 138, 3, 206, 206, 4},
                                         Facts{"NATOPS", 180, 180, 24, 51, 51, 6},
                                         Facts{"RacketSports", 151, 152, 6, 30, 30, 4},
                                         Facts{"LSST", 2459, 2466, 6, 36, 36, 14}));

}  // namespace

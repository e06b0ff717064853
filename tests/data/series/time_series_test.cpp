#include "data/series/time_series.h"

#include <gtest/gtest.h>

#include <vector>

#include "data/series/summary.h"
#include "support/series.h"

namespace {

using primal::data::summarise;
using primal::data::Summary;
using primal::data::TimeSeriesSet;
using primal::tests::from_csv;
using primal::tests::from_ts;

TEST(TimeSeriesSet, ASubsetHasTheChosenCasesInThatOrder) {
  const TimeSeriesSet set = from_csv("series,time,x,label\na,0,1,u\na,1,2,u\nb,5,3,v\nc,7,4,u\nc,8,?,u\n");
  const TimeSeriesSet chosen = set.subset(std::vector<int64_t>{2, 0, 2});
  EXPECT_EQ(chosen.ids, (std::vector<std::string>{"c", "a", "c"}));
  EXPECT_EQ(chosen.offsets, (std::vector<int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(chosen.times, (std::vector<double>{7, 8, 0, 1, 7, 8}));
  EXPECT_EQ(chosen.series(1)[1], 2.0F);
  EXPECT_EQ(chosen.labels, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(chosen.class_names, set.class_names);
  EXPECT_EQ(chosen.missing(), 2);
  EXPECT_EQ(set.subset({}).cases(), 0);
}

TEST(Summary, CountsCasesLengthsClassesAndMissingValues) {
  const Summary summary =
      summarise(from_ts("@problemName P\n@classLabel true a b c\n@data\n1,2:3,?:c\n1:?:a\n1,2,3:1,2,3:c\n"));
  EXPECT_EQ(summary.name, "P");
  EXPECT_EQ(summary.cases, 3);
  EXPECT_EQ(summary.channels, 2);
  EXPECT_EQ(summary.shortest, 1);
  EXPECT_EQ(summary.longest, 3);
  EXPECT_EQ(summary.mean_length, 2);
  EXPECT_EQ(summary.missing, 2);
  EXPECT_FALSE(summary.has_times);
  ASSERT_EQ(summary.classes.size(), 3U);
  EXPECT_EQ(summary.classes[0].cases, 1);
  EXPECT_EQ(summary.classes[1].cases, 0);
  EXPECT_EQ(summary.classes[2].name, "c");
  EXPECT_EQ(summary.classes[2].cases, 2);
  EXPECT_FALSE(summary.targets.has_value());
}

TEST(Summary, GivesTheRangeOfTargets) {
  const Summary summary = summarise(from_csv("series,time,x,target\na,0,1,5\nb,0,1,-2\n"));
  EXPECT_EQ(summary.targets, std::make_pair(-2.0, 5.0));
  EXPECT_TRUE(summary.has_times);
}

TEST(Summary, OfAnEmptySetIsZero) {
  EXPECT_EQ(summarise({}).longest, 0);
  EXPECT_EQ(summarise({}).mean_length, 0);
}

}  // namespace

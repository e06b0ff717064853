#include "kernels/cpu_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cpu_features.h"
#include "support/cpu_targets.h"
#include "support/errors.h"

namespace primal::kernels {
namespace {

using tests::available_cpu_targets;
using tests::contains;
using tests::CpuTargetGuard;
using tests::error_of;

std::vector<std::string> used_targets() {
  std::vector<std::string> names;
  for (const CpuTarget& target : cpu_targets()) {
    if (target.used) names.push_back(target.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(CpuTarget, ThisMachineHasAtLeastOne) { EXPECT_FALSE(available_cpu_targets().empty()); }

TEST(CpuTarget, NamesAreUnique) {
  std::set<std::string> names;
  for (const CpuTarget& target : cpu_targets()) EXPECT_TRUE(names.insert(target.name).second) << target.name;
}

TEST(CpuTarget, TheBestAvailableOneIsUsedUnlessAnotherIsNamed) {
  const CpuTargetGuard guard;
  use_cpu_target("");
  EXPECT_EQ(used_targets(), Names{available_cpu_targets().front()});
}

TEST(CpuTarget, ExactlyTheNamedOneIsUsed) {
  const CpuTargetGuard guard;
  for (const std::string& name : available_cpu_targets()) {
    use_cpu_target(name);
    EXPECT_EQ(used_targets(), Names{name});
  }
}

TEST(CpuTarget, NamingOneLeavesTheOthersAvailable) {
  const CpuTargetGuard guard;
  const Names before = available_cpu_targets();
  use_cpu_target(before.back());
  EXPECT_EQ(available_cpu_targets(), before);
  use_cpu_target(before.front());
  EXPECT_EQ(used_targets(), Names{before.front()});
}

TEST(CpuTarget, EveryOtherOneSaysWhyItIsNotUsed) {
  const CpuTargetGuard guard;
  for (const std::string& name : available_cpu_targets()) {
    use_cpu_target(name);
    bool better = true;  // they come best first
    for (const CpuTarget& target : cpu_targets()) {
      if (target.used) {
        better = false;
        EXPECT_EQ(target.reason, "");
      } else if (!target.available) {
        EXPECT_EQ(target.reason, "this CPU does not have it") << target.name;
      } else {
        EXPECT_EQ(target.reason, better ? "PRIMAL_CPU asks for another" : "a better one is available") << target.name;
      }
    }
  }
}

TEST(CpuTarget, AnUnknownNameIsRefusedWithTheListOfThePossibleOnes) {
  const CpuTargetGuard guard;
  std::string possible;
  for (const std::string& name : available_cpu_targets()) possible += (possible.empty() ? "" : ", ") + name;
  const std::string message = error_of<Error>([] { use_cpu_target("AVX9000"); });
  EXPECT_TRUE(contains(message, "AVX9000"));
  EXPECT_TRUE(message.ends_with(" " + possible)) << message;
}

TEST(CpuTarget, ARefusedNameLeavesTheChoiceAsItWas) {
  const CpuTargetGuard guard;
  const std::string name = available_cpu_targets().back();
  use_cpu_target(name);
  error_of<Error>([] { use_cpu_target("avx2"); });  // names are in capitals
  EXPECT_EQ(used_targets(), Names{name});
}

TEST(CpuTarget, OneThatTheCpuDoesNotHaveIsRefused) {
  const CpuTargetGuard guard;
  for (const CpuTarget& target : cpu_targets()) {
    if (target.available) continue;
    const std::string message = error_of<Error>([&] { use_cpu_target(target.name); });
    EXPECT_TRUE(contains(message, target.name));
  }
}

TEST(CpuTarget, AvailabilityAgreesWithTheFeaturesOfTheCpu) {
  const std::vector<CpuFeature> features = cpu_features();
  const auto has = [&](const std::string& name) {
    return std::any_of(features.begin(), features.end(), [&](const auto& f) { return f.name == name && f.present; });
  };
  for (const std::string& name : available_cpu_targets()) {
    EXPECT_TRUE(name != "SSE4" || has("sse4.2"));
    EXPECT_TRUE(name != "AVX2" || (has("avx2") && has("fma")));
    EXPECT_TRUE(!name.starts_with("AVX3") || (has("avx512f") && has("avx512vl")));
  }
}

// The variable is read once per process: each of these runs in a process of its own.
class CpuTargetOfEnvironmentDeathTest : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  [[noreturn]] static void report_choice(const std::string& variable) {
    setenv("PRIMAL_CPU", variable.c_str(), /*overwrite=*/1);
    try {
      use_cpu_target_of_environment();
      std::fprintf(stderr, "uses %s.", used_targets().at(0).c_str());
    } catch (const Error& error) {
      std::fprintf(stderr, "refused: %s", error.what());
    }
    std::_Exit(0);
  }
};

TEST_F(CpuTargetOfEnvironmentDeathTest, TheVariableNamesTheTarget) {
  const std::string name = available_cpu_targets().back();
  EXPECT_EXIT(report_choice(name), testing::ExitedWithCode(0), "uses " + name + "\\.");
}

TEST_F(CpuTargetOfEnvironmentDeathTest, AnUnknownTargetIsRefused) {
  EXPECT_EXIT(report_choice("AVX9000"), testing::ExitedWithCode(0), "refused: PRIMAL_CPU=AVX9000");
}

}  // namespace
}  // namespace primal::kernels

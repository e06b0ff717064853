#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace primal::base {
namespace {

void (*handler_of(int signal))(int) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

void other_handler(int /*signal*/) {}

/// Death tests start the program anew instead of forking: LibTorch has threads.
class InterruptDeathTest : public testing::Test {
 protected:
  InterruptDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST(Interrupt, IsNotedAndTheProgramGoesOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const InterruptGuard guard;
    EXPECT_FALSE(guard.interrupted());
    EXPECT_EQ(guard.signal(), 0);
    std::raise(signal);
    EXPECT_TRUE(guard.interrupted());
    EXPECT_EQ(guard.signal(), signal);
  }
}

TEST(Interrupt, OfAnEarlierGuardIsForgotten) {
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
  }
  const InterruptGuard guard;
  EXPECT_FALSE(guard.interrupted());
}

TEST(Interrupt, HandlersOfBeforeComeBack) {
  const auto before = std::signal(SIGINT, other_handler);
  for (const bool interrupt : {false, true}) {
    const InterruptGuard guard;
    EXPECT_NE(handler_of(SIGINT), other_handler);
    if (interrupt) std::raise(SIGINT);
  }
  EXPECT_EQ(handler_of(SIGINT), other_handler);
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
  std::signal(SIGINT, before);
}

TEST(Interrupt, WorksWhereTheShellIgnoresIt) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_TRUE(guard.interrupted());
  }
  EXPECT_EQ(handler_of(SIGINT), SIG_IGN);
  std::signal(SIGINT, before);
}

TEST(Interrupt, NohupIsHeeded) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_FALSE(guard.interrupted());
  }
  std::signal(SIGHUP, before);
}

TEST(Interrupt, TerminalThatClosesAfterItDoesNotEndTheProgram) {
  const InterruptGuard guard;
  std::raise(SIGINT);
  std::raise(SIGHUP);
  EXPECT_EQ(guard.signal(), SIGINT);
}

TEST_F(InterruptDeathTest, SecondOneEndsAtOnce) {
  const auto twice = [](int first, int second) {
    const InterruptGuard guard;
    std::raise(first);
    std::raise(second);
  };
  EXPECT_EXIT(twice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace primal::base

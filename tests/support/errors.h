// What a call throws, as text to compare.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "primal/error.h"

namespace primal::tests {

/// The message of the Expected error that `call` throws. Anything else is a failure of the test, and "".
template <typename Expected = Error, typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& other) {
    ADD_FAILURE() << "an error of another type: " << other.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

}  // namespace primal::tests

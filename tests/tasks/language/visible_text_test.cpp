#include "tasks/language/visible_text.h"

#include <gtest/gtest.h>

namespace primal::tasks {
namespace {

TEST(VisibleText, IsOneLineOfUtf8) {
  EXPECT_EQ(visible_text("a b"), "a b");
  EXPECT_EQ(visible_text("\n\r\t\\"), "\\n\\r\\t\\\\");
  EXPECT_EQ(visible_text("\u00e9"), "\u00e9");
  EXPECT_EQ(visible_text("\xc3"), "\\xc3");
  EXPECT_EQ(visible_text("a\xff\xfe z"), "a\\xff\\xfe z");
  EXPECT_EQ(visible_text(std::string_view("\0\x1b", 2)), "\\x00\\x1b");
  EXPECT_EQ(visible_text(""), "");
}

}  // namespace
}  // namespace primal::tasks

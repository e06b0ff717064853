#include "report/ksvd_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/page_data.h"

namespace {

using primal::tests::data_of;

primal::report::KsvdPage page_of(const std::string& title) {
  return {.title = title,
          .kernel = "rbf kernel, width 2",
          .form = "dual form, exact",
          .rows = 3,
          .columns = 2,
          .values = {2, 1},
          .shares = {0.8, 0.2},
          .effective_rank = 1.9,
          .sides = {{.title = "Rows", .features = {{0.5, 1}, {2, 1.0 / 3}}}}};
}

TEST(KsvdPage, HoldsTheSpectrumAndTheFeatures) {
  const nlohmann::json data = data_of(primal::report::ksvd_page(page_of("a.csv")));
  EXPECT_EQ(data["kind"], "ksvd");
  EXPECT_EQ(data["values"], nlohmann::json({2, 1}));
  EXPECT_EQ(data["shares"], nlohmann::json({0.8, 0.2}));
  EXPECT_EQ(data["sides"][0]["features"][1], nlohmann::json({2, 0.333333}));
  EXPECT_EQ(data["sampled"], false);
}

TEST(KsvdPage, HostileNamesStayText) {
  const std::string name = "</script><img src=x onerror=alert(1)>";
  const std::string page = primal::report::ksvd_page(page_of(name));
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(data_of(page)["title"], name);
}

}  // namespace

#include "report/ksvd_page.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "report/page.h"

namespace primal::report {
namespace {

nlohmann::json rounded_list(const std::vector<double>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : values) list.push_back(rounded(value));
  return list;
}

std::string summary_of(const KsvdPage& page) {
  std::string text = page.title + ": " + page.kernel + ", " + page.form + "; singular values";
  for (const double value : page.values) text += " " + base::format_digits(value, 6);
  return text;
}

}  // namespace

std::string ksvd_page(const KsvdPage& page) {
  nlohmann::json data = {{"kind", "ksvd"},
                         {"title", page.title},
                         {"kernel", page.kernel},
                         {"form", page.form},
                         {"rows", page.rows},
                         {"columns", page.columns},
                         {"sampled", page.is_sampled},
                         {"values", rounded_list(page.values)},
                         {"shares", rounded_list(page.shares)},
                         {"effectiveRank", rounded(page.effective_rank)},
                         {"sides", nlohmann::json::array()}};
  for (const KsvdPage::Side& side : page.sides) {
    nlohmann::json features = nlohmann::json::array();
    for (const std::vector<double>& feature : side.features) features.push_back(rounded_list(feature));
    data["sides"].push_back({{"title", side.title}, {"features", features}});
  }
  return make_page(page.title + " · primal ksvd", summary_of(page), data);
}

}  // namespace primal::report

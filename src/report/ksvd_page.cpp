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
                         {"points", nlohmann::json::array()}};
  for (const KsvdPage::Points& points : page.points) {
    data["points"].push_back({{"title", points.title}, {"x", rounded_list(points.x)}, {"y", rounded_list(points.y)}});
  }
  return make_page(page.title + " · primal ksvd", summary_of(page), data);
}

}  // namespace primal::report

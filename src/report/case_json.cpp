#include "report/case_json.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/statistics.h"
#include "report/page.h"

namespace primal::report {
namespace {

using Json = nlohmann::json;

Json group_row_json(const run::GroupRow& row) {
  Json json = {{"name", row.name}, {"cases", row.cases}, {"right", row.right}, {"interval", nullptr}};
  if (row.cases > 0) {
    const auto cases = static_cast<double>(row.cases);
    const auto [low, high] = base::wilson_interval(static_cast<double>(row.right) / cases, cases);
    json["interval"] = {rounded(low), rounded(high)};
  }
  return json;
}

Json group_json(const run::CaseGroup& group) {
  Json rows = Json::array();
  for (const run::GroupRow& row : group.rows) rows.push_back(group_row_json(row));
  return {{"name", group.name}, {"rows", rows}};
}

Json answer_json(const run::CaseAnswer& answer) {
  return {{"truth", answer.truth}, {"predicted", answer.predicted}, {"share", rounded(answer.share)}};
}

Json picture_json(const run::PictureCase& picture) {
  Json json = answer_json(picture.answer);
  json["right"] = picture.right;
  json["width"] = picture.width;
  json["height"] = picture.height;
  json["grey"] = base::base64_of(picture.grey);
  return json;
}

Json text_json(const run::TextCase& text) {
  Json json = answer_json(text.answer);
  json["texts"] = text.texts;
  return json;
}

}  // namespace

void add_cases(Json& test, const run::CaseDetails& details) {
  for (const char* key : {"referenceLines", "groups", "pictures", "texts"}) test[key] = Json::array();
  for (const auto& [name, score] : details.reference_lines) {
    test["referenceLines"].push_back({{"name", name}, {"score", rounded(score)}});
  }
  for (const run::CaseGroup& group : details.groups) test["groups"].push_back(group_json(group));
  for (const run::PictureCase& picture : details.pictures) test["pictures"].push_back(picture_json(picture));
  for (const run::TextCase& text : details.texts) test["texts"].push_back(text_json(text));
}

}  // namespace primal::report

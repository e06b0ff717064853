#include "run/case_details.h"

#include <cmath>

#include "base/base64.h"
#include "base/json_fields.h"
#include "run/detail_lists.h"

namespace primal::run {

namespace {

using Json = nlohmann::json;

constexpr const char *kReferenceLines = "reference_lines", *kGroups = "groups", *kPictures = "pictures",
                     *kTexts = "texts";
constexpr int64_t kMostPixels = 1 << 20;  // of a side; keeps their product far from overflow

// Four decimals: more of them only make the file longer.
double short_share(double share) { return std::round(1e4 * share) / 1e4; }

Json line_json(const ReferenceLine& line) { return {{"name", line.name}, {"score", line.score}}; }

Json group_json(const CaseGroup& group) {
  Json rows = Json::array();
  for (const GroupRow& row : group.rows) {
    rows.push_back({{"name", row.name}, {"cases", row.cases}, {"right", row.right}});
  }
  return {{"name", group.name}, {"rows", rows}};
}

Json answer_json(const CaseAnswer& answer) {
  return {{"truth", answer.truth}, {"predicted", answer.predicted}, {"share", short_share(answer.share)}};
}

Json picture_json(const PictureCase& picture) {
  Json json = answer_json(picture.answer);
  json["right"] = picture.right;
  json["width"] = picture.width;
  json["height"] = picture.height;
  json["grey"] = base::base64_of(picture.grey);
  return json;
}

Json text_json(const TextCase& text) {
  Json json = answer_json(text.answer);
  json["texts"] = text.texts;
  return json;
}

ReferenceLine line_from(const base::Fields& fields) { return {fields.text("name"), fields.number("score")}; }

CaseGroup group_from(const base::Fields& fields) {
  CaseGroup group{.name = fields.text("name"), .rows = {}};
  for (const base::Fields& row : fields.objects("rows")) {
    group.rows.push_back({row.text("name"), row.whole("cases"), row.whole("right")});
    const auto& [name, cases, right] = group.rows.back();
    if (right > cases) {
      row.fail("right", "expected at most " + std::to_string(cases) + ", the cases, got " + std::to_string(right));
    }
  }
  return group;
}

CaseAnswer answer_from(const base::Fields& fields) {
  return {fields.text("truth"), fields.text("predicted"), fields.number("share")};
}

PictureCase picture_from(const base::Fields& fields) {
  PictureCase picture{.answer = answer_from(fields),
                      .right = fields.flag_if_any("right"),
                      .width = fields.whole("width"),
                      .height = fields.whole("height"),
                      .grey = {}};
  for (const auto& [key, side] : {std::pair{"width", picture.width}, {"height", picture.height}}) {
    if (side < 1 || side > kMostPixels) fields.fail(key, "expected 1 to 1048576 pixels, got " + std::to_string(side));
  }
  auto grey = base::bytes_of_base64(fields.text("grey"));
  if (!grey) fields.fail("grey", "expected bytes in base64");
  if (std::ssize(*grey) != picture.width * picture.height) {
    fields.fail("grey", "expected " + std::to_string(picture.width) + " x " + std::to_string(picture.height) +
                            " bytes, got " + std::to_string(grey->size()));
  }
  picture.grey = std::move(*grey);
  return picture;
}

TextCase text_from(const base::Fields& fields) { return {answer_from(fields), fields.texts("texts")}; }

}  // namespace

void put(Evaluation& evaluation, const CaseDetails& details) {
  put_list(evaluation, kReferenceLines, details.reference_lines, line_json);
  put_list(evaluation, kGroups, details.groups, group_json);
  put_list(evaluation, kPictures, details.pictures, picture_json);
  put_list(evaluation, kTexts, details.texts, text_json);
}

CaseDetails case_details(const Evaluation& evaluation, const std::string& where) {
  return {.reference_lines = list_from(evaluation, where, kReferenceLines, line_from),
          .groups = list_from(evaluation, where, kGroups, group_from),
          .pictures = list_from(evaluation, where, kPictures, picture_from),
          .texts = list_from(evaluation, where, kTexts, text_from)};
}

}  // namespace primal::run

#include "run/matrix_facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_fields.h"
#include "run/analysis_file.h"
#include "support/errors.h"

namespace primal::run {
namespace {

MatrixFacts some_facts() {
  const MatrixCurves head{.values = {3, 1.25}, .explained = {0.75, 1}, .effective_rank = 1.5, .ranks = {2, 2, 2}};
  MatrixFacts facts{.layer = "layer 1",
                    .kind = "softmax",
                    .samples = 2,
                    .tokens = 2,
                    .features = 4,
                    .places = {1, 2},
                    .all = head,
                    .heads = {head, head}};
  facts.all.deviations = {0.5, 0};
  facts.all.explained_deviations = {0.125, 0};
  facts.all.effective_rank_deviation = 0.25;
  return facts;
}

Spectra read_back(const Spectra& spectra) { return parse_analysis(to_json(spectra).dump(), "analysis.json"); }

TEST(MatrixFacts, AreReadAsTheyWereWritten) {
  const Spectra spectra = read_back({.matrices = {some_facts()}, .matrices_of = "two samples"});
  EXPECT_EQ(spectra.matrices_of, "two samples");
  ASSERT_EQ(spectra.matrices.size(), 1u);
  const MatrixFacts& facts = spectra.matrices[0];
  EXPECT_EQ(to_json(facts), to_json(some_facts()));
  EXPECT_EQ(facts.all.deviations, (std::vector<double>{0.5, 0}));
  EXPECT_EQ(facts.all.ranks, (std::array<int64_t, 3>{2, 2, 2}));
  EXPECT_EQ(facts.heads.size(), 2u);
  EXPECT_TRUE(std::isnan(facts.heads[0].effective_rank_deviation));
}

TEST(MatrixFacts, SayWhyThereAreNone) {
  const Spectra spectra = read_back({.matrices = {{.layer = "layer 2", .kind = "softmax", .left_out = "too long"}}});
  EXPECT_EQ(spectra.matrices[0].left_out, "too long");
  EXPECT_TRUE(spectra.matrices[0].places.empty());
}

TEST(MatrixFacts, EarlierFilesHaveNone) {
  EXPECT_TRUE(parse_analysis(R"({"layers": []})", "analysis.json").matrices.empty());
}

TEST(MatrixFacts, ListsMustFitThePlaces) {
  MatrixFacts facts = some_facts();
  facts.places = {1, 2, 3};
  const std::string text = to_json(Spectra{.matrices = {facts}}).dump();
  const std::string error = tests::error_of([&] { parse_analysis(text, "analysis.json"); });
  EXPECT_NE(error.find("analysis.json: "), error.npos) << error;
  EXPECT_NE(error.find("\"singular_values\": expected 3 numbers, one per place, got 2"), error.npos) << error;
}

TEST(MatrixFacts, PlacesAndRanksAreWholeNumbers) {
  const auto error_with = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = to_json(Spectra{.matrices = {some_facts()}});
    json["matrices"][0][nlohmann::json::json_pointer(key)] = value;
    return tests::error_of([&] { parse_analysis(json.dump(), "analysis.json"); });
  };
  for (const auto& places : {nlohmann::json::array(), nlohmann::json({2, 3}), nlohmann::json({1, 1})}) {
    EXPECT_NE(error_with("/places", places).find("\"places\": expected rising numbers from 1"), std::string::npos);
  }
  EXPECT_NE(error_with("/places", {1, 2.5}).find("\"places\""), std::string::npos);
  EXPECT_NE(error_with("/heads", nlohmann::json::array()).find("\"heads\": expected at least one"), std::string::npos);
  EXPECT_NE(error_with("/all/ranks", {-5, 1, 2}).find("\"ranks\""), std::string::npos);
}

}  // namespace
}  // namespace primal::run

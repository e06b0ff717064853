#include "models/language_options_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/small_language_model.h"
#include "support/errors.h"

namespace primal::models {
namespace {

using Json = nlohmann::json;

std::string error_in(const Json& json) {
  return tests::error_of([&] { language_options_from_json(json, "data.json: model"); });
}

/// Every option that a test can tell from its default.
LanguageModelOptions unusual_options() {
  LanguageModelOptions options =
      tests::small_language_model({.kinds = {"window", "primal"}, .memory = Memory::decay, .kernel = 3, .padding = 1})
          ->options();
  options.positions = Positions::learnt;
  options.dropout = 0.25;
  options.adaptive = {.cutoffs = {5, 9}, .factor = 2};
  options.layers[0].attention.window.tokens = 7;
  options.layers[0].fused = false;
  options.layers[1].attention.primal.feature_map = "exponential";
  options.layers[1].attention.primal.lambda = LambdaForm::softplus;
  return options;
}

TEST(LanguageOptionsJson, ComesBackAsItWas) {
  const Json json = to_json(unusual_options());
  const LanguageModelOptions back = language_options_from_json(Json::parse(json.dump()), "model");
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.padding, 1);
  EXPECT_EQ(back.positions, Positions::learnt);
  EXPECT_EQ(back.adaptive.cutoffs, (std::vector<int64_t>{5, 9}));
  EXPECT_EQ(back.layers.at(0).attention.window.tokens, 7);
  EXPECT_EQ(back.layers.at(1).attention.primal.memory, Memory::decay);
  EXPECT_EQ(back.layers.at(1).attention.primal.lambda, LambdaForm::softplus);
}

TEST(LanguageOptionsJson, WhatIsMissingHasItsDefault) {
  const LanguageModelOptions options = language_options_from_json({{"vocabulary", 9}}, "model");
  EXPECT_EQ(options.vocabulary, 9);
  EXPECT_EQ(options.positions, LanguageModelOptions().positions);
  EXPECT_TRUE(options.layers.empty());
}

TEST(LanguageOptionsJson, ComplaintsNameTheField) {
  Json json = to_json(unusual_options());
  json["layers"][1]["activation"] = "tanh";
  EXPECT_TRUE(tests::contains(error_in(json), "data.json: model: layers[1]: activation"));
  EXPECT_EQ(error_in({{"vocabulary", "many"}}),
            "data.json: model: field \"vocabulary\": expected a whole number, got a value of kind string");
  EXPECT_EQ(error_in({{"vocabulary", 1.5}}),
            "data.json: model: field \"vocabulary\": expected a whole number, got a value of kind number");
  EXPECT_EQ(error_in({{"colour", 1}}),
            "data.json: model: field \"colour\": is not known: was the run made by a newer version?");
  EXPECT_EQ(error_in(Json::array()), "data.json: model: expected an object, got a value of kind array");
}

}  // namespace
}  // namespace primal::models

// What a conversion is asked for, and what it writes down.
#include "tasks/conversion.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/temporary_folder.h"
#include "nn/encoder.h"
#include "support/errors.h"
#include "tasks/convert_layers.h"

namespace primal::tasks {
namespace {

class LayersToConvert : public testing::Test {
 protected:
  static nn::EncoderLayerOptions layer_of(const std::string& kind) {
    return {.attention = {.kind = kind, .width = 4, .heads = 1, .primal = {.rank = 2, .rows = 2}}, .feed_forward = 4};
  }

  std::vector<size_t> chosen(const std::string& wanted) {
    return layers_to_convert(wanted, encoder_layers(*encoder), "runs/a");
  }

  nn::Encoder encoder{std::vector{layer_of("softmax"), layer_of("primal"), layer_of("linear")}};
};

TEST_F(LayersToConvert, AreTheLastAllOrByNumber) {
  EXPECT_EQ(chosen("last"), (std::vector<size_t>{2}));
  EXPECT_EQ(chosen("all"), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(chosen("3,1,1"), (std::vector<size_t>{0, 2}));
}

TEST_F(LayersToConvert, OthersAreRefused) {
  EXPECT_EQ(tests::error_of([&] { chosen("2"); }), "--layers 2: layer 2 of runs/a is primal already");
  EXPECT_EQ(tests::error_of([&] { chosen("0"); }), "--layers: expected last, all or numbers from 1 to 3, got 0");
  EXPECT_EQ(tests::error_of([&] { chosen("1,x"); }), "--layers: expected last, all or numbers from 1 to 3, got x");
  EXPECT_EQ(tests::error_of([&] { chosen(""); }), "--layers: expected last, all or numbers from 1 on, got nothing");
}

TEST(Conversion, IsReadAsItWasWritten) {
  const Conversion written{
      .request = {{"run", "runs/a"}, {"layers", {0}}},
      .run = "runs/a",
      .what = "Transformer of runs/a becomes Primal.+ in runs/b",
      .data = "Vowels TEST, 3 series",
      .metric = run::accuracy_metric(),
      .layers = {{.name = "layer 1",
                  .kind = "softmax",
                  .rank = 4,
                  .rows = 8,
                  .random = 0.25,
                  .closed_form = 0.5,
                  .distilled = 0.75,
                  .sequences = 10,
                  .tokens = 80,
                  .held_out = true}},
      .seconds = 1.5,
      .scores = {{kBefore, {.score = 0.9, .loss = 0.5}}, {kTuned, {.score = 0.875, .steps = 7, .seconds = 2}}}};
  const base::TemporaryFolder folder;
  const auto file = folder.path() / "convert.json";
  base::write_file_atomically(file, to_json(written).dump());
  const Conversion found = read_conversion(file);
  EXPECT_EQ(to_json(found), to_json(written));
  EXPECT_EQ(to_text(found), to_text(written));
  EXPECT_NE(to_text(found).find("75.0 %"), std::string::npos);
}

TEST(Conversion, ABrokenFileIsNamed) {
  const base::TemporaryFolder folder;
  const auto file = folder.path() / "convert.json";
  base::write_file_atomically(file, "{}");
  EXPECT_EQ(tests::error_of([&] { read_conversion(file); }).find(file.string()), 0u);
}

}  // namespace
}  // namespace primal::tasks

#include "train/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <nlohmann/json.hpp>

#include "run/run_directory.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tensors.h"

namespace primal::train {
namespace {

using tests::contains;
using tests::error_of;
using tests::read;
namespace fs = std::filesystem;

class CheckpointTest : public tests::FolderTest {
 protected:
  Checkpoint some(float value) const {
    return {{{"weight", torch::full({2, 3}, value)}}, {{"weight.m", torch::ones({2, 3})}}, "{\"step\": 1}"};
  }
};

TEST_F(CheckpointTest, ComesBackAsItWas) {
  save_checkpoint(folder, "step-5", some(2));
  const Checkpoint loaded = load_checkpoint(folder / "step-5");
  EXPECT_TRUE(tests::same(loaded.model.at("weight"), torch::full({2, 3}, 2.f)));
  EXPECT_TRUE(tests::same(loaded.optimizer.at("weight.m"), torch::ones({2, 3})));
  EXPECT_EQ(nlohmann::json::parse(loaded.state)["step"], 1);
}

TEST_F(CheckpointTest, ASecondOneOfTheSameNameReplacesTheFirst) {
  save_checkpoint(folder, "best", some(1));
  save_checkpoint(folder, "best", some(2));
  EXPECT_TRUE(tests::same(load_checkpoint(folder / "best").model.at("weight"), torch::full({2, 3}, 2.f)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(CheckpointTest, TheNewestIsFoundByNumberAndLeftoversAreRemoved) {
  EXPECT_FALSE(latest_checkpoint(folder / "none"));
  for (const char* name : {"step-9", "step-10", "step-100", "step-x", "other"}) fs::create_directory(folder / name);
  fs::create_directory(folder / "step-101.tmp");
  EXPECT_EQ(latest_checkpoint(folder), folder / "step-100");
  EXPECT_FALSE(fs::exists(folder / "step-101.tmp"));
  remove_old_checkpoints(folder, 2);
  EXPECT_TRUE(fs::exists(folder / "step-100"));
  EXPECT_TRUE(fs::exists(folder / "step-10"));
  EXPECT_FALSE(fs::exists(folder / "step-9"));
  EXPECT_TRUE(fs::exists(folder / "other"));
}

TEST_F(CheckpointTest, DamageNamesTheFile) {
  save_checkpoint(folder, "step-1", some(1));
  fs::resize_file(folder / "step-1" / "model.safetensors", 20);
  EXPECT_TRUE(contains(error_of([&] { load_checkpoint(folder / "step-1"); }), "model.safetensors"));
  EXPECT_TRUE(contains(error_of([&] { load_checkpoint(folder / "step-2"); }), "step-2/state.json: is missing"));
}

// Any bit of any file, one at a time: a sample of them.
TEST_F(CheckpointTest, DamagedBitsAreNoticed) {
  save_checkpoint(folder, "step-1", some(1));
  const fs::path path = folder / "step-1";
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string good = read(path / name);
    const bool is_state = std::string(name) == "state.json";
    for (size_t byte = is_state ? good.rfind('1') : 0; byte < good.size(); byte += is_state ? good.size() : 7) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ 2);
      write(path / name, bad);
      EXPECT_TRUE(contains(error_of([&] { load_checkpoint(path); }), (path / name).string() + ": is damaged")) << byte;
    }
    write(path / name, good);
  }
  load_checkpoint(path);
  fs::remove(path / "optimizer.safetensors");
  EXPECT_TRUE(contains(error_of([&] { load_checkpoint(path); }), "optimizer.safetensors: is missing"));
}

TEST_F(CheckpointTest, OlderOnesHaveNoChecksums) {
  save_checkpoint(folder, "step-1", some(1));
  write(folder / "step-1" / "state.json", "{\"step\": 1}");
  EXPECT_EQ(load_checkpoint(folder / "step-1").model.size(), 1u);
}

using RunDirectoryTest = CheckpointTest;

TEST_F(RunDirectoryTest, HoldsOneRunAndOneProcess) {
  const fs::path path = folder / "runs" / "a";
  {
    run::RunDirectory run = run::RunDirectory::create(path, "[model]\n");
    EXPECT_EQ(read(path / "config.toml"), "[model]\n");
    EXPECT_EQ(error_of([&] { run::RunDirectory::resume(path); }),
              path.string() + ": another process is working in this run");
  }
  run::RunDirectory::resume(path);
  EXPECT_TRUE(contains(error_of([&] { run::RunDirectory::create(path, ""); }), "there is a run already"));
  EXPECT_TRUE(contains(error_of([&] { run::RunDirectory::resume(folder); }), "no run here"));
}

TEST_F(RunDirectoryTest, MetricsAfterACheckpointAreForgotten) {
  run::RunDirectory run = run::RunDirectory::create(folder, "");
  EXPECT_EQ(run.metric_bytes(), 0);
  run.metric({{"epoch", 1}});
  const int64_t bytes = run.metric_bytes();
  run.metric({{"epoch", 2}});
  EXPECT_EQ(read(folder / "metrics.jsonl"), "{\"epoch\":1}\n{\"epoch\":2}\n");
  run.forget_metrics_after(bytes);
  EXPECT_EQ(read(folder / "metrics.jsonl"), "{\"epoch\":1}\n");
  run.forget_metrics_after(1000);
  EXPECT_EQ(run.metric_bytes(), bytes);
}

}  // namespace
}  // namespace primal::train

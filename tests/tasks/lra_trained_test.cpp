// A Long Range Arena task as eval and predict open it: from the facts that a run wrote down.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run/classification.h"
#include "support/errors.h"
#include "support/lra_files.h"
#include "tasks/lra/task.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;

class LraTrainedTest : public tests::LraFolderTest {
 protected:
  LraTrainedTest() {
    write_listops();
    write_text();
  }

  nlohmann::json facts_for(const std::string& task, bool holds_out = true) {
    config.data.task = task;
    return LraTask(config, {.search = search(), .hold_out = holds_out}).facts();
  }
  LraTask trained(const std::string& task) {
    const auto facts = write("run/data.json", facts_for(task).dump());
    return LraTask(config, {.search = search(), .facts = facts});
  }
};

TEST_F(LraTrainedTest, ATrainedTaskNeedsNoDataOfItsOwnForAFile) {
  LraTask task = trained("listops");
  std::filesystem::rename(folder / "lra/listops/basic_test.tsv", folder / "other.tsv");
  std::filesystem::remove_all(folder / "lra");
  const Evaluation evaluation = task.evaluate_file(folder / "other.tsv");
  EXPECT_EQ(run::class_details(evaluation)->classes.size(), 10u);
  EXPECT_EQ(task.describe({.file = folder / "other.tsv"}), (folder / "other.tsv").string() + ", 7 examples");
  EXPECT_TRUE(contains(error_of([&] { task.evaluate(Part::test); }), "data of lra/listops: expected"));
  EXPECT_TRUE(contains(error_of([&] { task.evaluate_file(folder / "none.tsv"); }), (folder / "none.tsv").string()));
}

TEST_F(LraTrainedTest, ATrainedTaskFindsTheDataOfItsRun) {
  LraTask task = trained("text");
  EXPECT_EQ(task.describe({}), "lra/text TEST, 9 examples");
  EXPECT_EQ(task.describe({.part = Part::validation}), "lra/text validation part, 3 examples");
  EXPECT_EQ(task.describe({.part = Part::train, .examples = 5}), "lra/text TRAIN, 5 examples");
  const auto long_ones = task.describe({.part = Part::train, .tokens = 100});
  EXPECT_TRUE(contains(long_ones, " (no more, because they are long)"));
}

TEST_F(LraTrainedTest, DataThatHaveChangedSinceTheRunBeganAreRefused) {
  for (const char* part : {"train", "test"}) {
    LraTask task = trained("text");
    write(std::string("imdb/imdb_") + part + ".tsv", tests::reviews_file(12, 5));
    EXPECT_EQ(error_of([&] { task.evaluate(Part::test); }),
              (folder / "run/data.json").string() +
                  ": the data of lra/text have changed since this run began; restore them, or give a file");
    EXPECT_NO_THROW(task.evaluate_file(folder / "imdb/imdb_test.tsv"));
    write_text();
  }
}

// A refit holds nothing out, and goes on where it stood only with the data of its run.
TEST_F(LraTrainedTest, FactsAreThoseOfTheDataBeforeAnythingIsHeldOut) {
  const nlohmann::json facts = facts_for("text");
  EXPECT_EQ(facts_for("text", /*holds_out=*/false), facts);
  config.train.seed = 2;
  EXPECT_EQ(facts_for("text"), facts);
}

}  // namespace
}  // namespace primal::tasks

#include "tasks/watch.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "run/run.h"
#include "support/files.h"

namespace primal::tasks {
namespace {

// Its pass throws what it is told to.
class FailingTask : public Task {
 public:
  torch::nn::Module& model() override { return *model_; }
  const train::Metric& metric() const override { return run::accuracy_metric(); }
  int64_t examples() const override { return 1; }
  std::unique_ptr<train::Batch> batch(std::vector<int64_t>, base::Random) const override { return nullptr; }
  train::BatchLoss loss(train::Batch&) override { return {}; }
  Evaluation evaluate(Part) override { return {}; }
  nlohmann::json facts() const override { return {}; }
  bool has(Part) const override { return true; }
  std::string description() const override { return ""; }
  std::string describe(const DataChoice&) override { return "nothing"; }
  void forward(const DataChoice&) override { fail(); }

  std::function<void()> fail;

 private:
  torch::nn::Linear model_{2, 2};
};

class WatchTest : public tests::FolderTest {
 protected:
  std::vector<std::string> said;
  FailingTask task;
  run::RunDirectory run = run::RunDirectory::create(folder / "run", "");
};

TEST_F(WatchTest, SpectraThatCannotBeComputedAreANote) {
  const auto say = [&](const std::string& text) { said.push_back(text); };
  task.fail = [] { throw std::bad_alloc(); };
  analyse(task, run, say);
  EXPECT_EQ(said.back(), "note: the spectra could not be computed: not enough memory");
  task.fail = [] { throw std::runtime_error("no convergence\nframe #0"); };
  analyse(task, run, say);
  EXPECT_EQ(said.back(), "note: the spectra could not be computed: no convergence");
  EXPECT_EQ(run::load_run(run.path()).spectra.failure, "no convergence");
}

TEST_F(WatchTest, ItIsSaidOnceAndARunGoesOn) {
  task.fail = [] { throw std::bad_alloc(); };
  Watch watch(task, "advice", run, [&](const std::string& text) { said.push_back(text); });
  watch.look();
  watch.look();
  EXPECT_EQ(said.size(), 1u);
}

}  // namespace
}  // namespace primal::tasks

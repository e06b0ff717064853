#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "primal/error.h"
#include "train/autocast.h"
#include "train/checkpoint.h"
#include "train/epoch_order.h"
#include "train/event_file.h"
#include "train/failure.h"
#include "train/inputs_ahead.h"
#include "train/interrupt.h"
#include "train/trainer_state.h"
#include "train/weight_average.h"

namespace primal::train {

namespace {

constexpr const char* kGenerator = "random_generator";  // its state, among the tensors of the optimizer

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Biases, norms, Lambda and frequencies are not decayed: all of them are vectors but Lambda.
bool decays(const std::string& name, const torch::Tensor& parameter) {
  return parameter.dim() > 1 && !name.ends_with(".lam");
}

std::vector<Optimizer::Parameter> parameters_of(const torch::nn::Module& model) {
  std::vector<Optimizer::Parameter> parameters;
  for (const auto& entry : model.named_parameters()) {
    parameters.push_back({entry.key(), entry.value(), decays(entry.key(), entry.value())});
  }
  return parameters;
}

// A better score, or the same with a smaller loss: on a small validation part many epochs have the same accuracy.
bool is_better(const Evaluation& a, const Evaluation& b) {
  return a.score > b.score || (a.score == b.score && a.loss < b.loss);
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::nan("") : sum / static_cast<double>(values.size());
}

struct Saved {
  Checkpoint tensors;
  TrainerState state;
};

Saved read_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint = load_checkpoint(path);
  if (checkpoint.optimizer.empty()) {
    throw Error((path / "optimizer.safetensors").string() + ": is missing or empty");
  }
  TrainerState state = trainer_state(checkpoint.state, (path / "state.json").string());
  return {std::move(checkpoint), std::move(state)};
}

template <typename Function>
void with_advice(const std::filesystem::path& checkpoint, const Function& read) {
  try {
    read();
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + "; if the file is damaged, remove " + checkpoint.string() +
                " to go on from the checkpoint before it");
  }
}

}  // namespace

void check_newest_checkpoint(const RunDirectory& run) {
  const auto newest = latest_checkpoint(run.checkpoints());
  if (newest) with_advice(*newest, [&] { read_checkpoint(*newest); });
}

class Trainer::Loop {
 public:
  Loop(Problem& problem, TrainOptions train, OptimizerOptions optimizer, ScheduleOptions schedule, RunDirectory& run,
       Progress& progress)
      : problem_(problem),
        options_(std::move(train)),
        schedule_(schedule),
        optimizer_(parameters_of(problem.model()), optimizer),
        average_(problem.model(), options_.average),
        autocast_(options_.precision),
        run_(run),
        progress_(progress) {
    batches_ = (problem.examples() + options_.batch - 1) / options_.batch;
    schedule_.total_steps = options_.epochs * steps_per_epoch();
    check(schedule_);
    resume();
    // Without a checkpoint too: a run killed before its first one has left events.
    EventFileOptions events;
    events.purge_step = state_.step > 0 ? state_.step + 1 : 0;
    events_.emplace(run.path(), events);
  }

  Outcome run();
  void restore_best();

 private:
  int64_t steps_per_epoch() const { return (batches_ + options_.accumulate - 1) / options_.accumulate; }
  int64_t last_epoch() const { return options_.last_epoch.value_or(options_.epochs); }

  void resume();
  void load(const std::filesystem::path& checkpoint);
  void save();
  [[noreturn]] void give_up(const std::string& reason);
  bool wants_checkpoint() const;
  bool out_of_patience() const;
  void run_epoch(const InterruptGuard& interrupt);
  void take_step(InputsAhead& inputs);
  void finish_epoch();
  void evaluate();
  void show_progress();
  Outcome outcome(bool interrupted) const;

  Problem& problem_;
  TrainOptions options_;
  ScheduleOptions schedule_;
  Optimizer optimizer_;
  WeightAverage average_;
  Autocast autocast_;
  RunDirectory& run_;
  Progress& progress_;
  std::optional<EventFile> events_;
  TrainerState state_;
  int64_t batches_ = 0;  // per epoch
  int64_t saved_step_ = -1;
  Clock::time_point saved_at_ = Clock::now();
};

void Trainer::Loop::resume() {
  const auto newest = latest_checkpoint(run_.checkpoints());
  if (!newest) {
    run_.forget_metrics_after(0);
    return;
  }
  with_advice(*newest, [&] { load(*newest); });
  run_.forget_metrics_after(state_.metric_bytes);
  saved_step_ = state_.step;
}

void Trainer::Loop::load(const std::filesystem::path& path) {
  auto [checkpoint, state] = read_checkpoint(path);
  const std::string optimizer_file = (path / "optimizer.safetensors").string();
  load_tensors(problem_.model(), checkpoint.model, (path / "model.safetensors").string());
  auto generator = checkpoint.optimizer.extract(kGenerator);
  if (generator.empty()) throw Error(optimizer_file + ": no " + kGenerator);
  average_.load_state(checkpoint.optimizer, optimizer_file);
  optimizer_.load_state(checkpoint.optimizer);
  at::Generator random = at::detail::getDefaultCPUGenerator();
  random.set_state(generator.mapped().clone());
  state_ = std::move(state);
}

void Trainer::Loop::restore_best() {
  const auto path = run_.path() / "best";
  const Checkpoint best = load_checkpoint(path);
  // They differ if a run went on from an old checkpoint and ended before it had come as far again.
  const auto epoch = nlohmann::json::parse(best.state, nullptr, false).value("epoch", state_.best.epoch);
  if (epoch != state_.best.epoch) {
    throw Error(path.string() + ": has the weights of epoch " + std::to_string(epoch) + ", but epoch " +
                std::to_string(state_.best.epoch) + " was chosen; resume with train.epochs=" + std::to_string(epoch) +
                " or more");
  }
  load_tensors(problem_.model(), best.model, path.string());
}

void Trainer::Loop::give_up(const std::string& reason) { throw Failure(reason + "; " + smaller_steps(options_.clip)); }

void Trainer::Loop::save() {
  if (saved_step_ == state_.step) return;
  state_.metric_bytes = run_.metric_bytes();
  Checkpoint checkpoint{tensors_of(problem_.model()), optimizer_.state(), to_text(state_)};
  checkpoint.optimizer.merge(average_.state());
  checkpoint.optimizer[kGenerator] = at::detail::getDefaultCPUGenerator().get_state();
  save_checkpoint(run_.checkpoints(), "step-" + std::to_string(state_.step), checkpoint);
  remove_old_checkpoints(run_.checkpoints(), options_.checkpoints_kept);
  saved_step_ = state_.step;
  saved_at_ = Clock::now();
}

bool Trainer::Loop::wants_checkpoint() const {
  return (options_.checkpoint_steps > 0 && state_.step % options_.checkpoint_steps == 0) ||
         seconds_since(saved_at_) >= options_.checkpoint_seconds;
}

bool Trainer::Loop::out_of_patience() const {
  return options_.keep == Keep::best && options_.patience > 0 && state_.best.epoch >= 0 &&
         state_.epoch - state_.best.epoch >= options_.patience;
}

// One step of the optimizer: `accumulate` batches, or what is left of the epoch.
void Trainer::Loop::take_step(InputsAhead& inputs) {
  const auto start = Clock::now();
  const int64_t last = std::min(state_.batch + options_.accumulate, batches_);
  const int64_t examples =
      std::min<int64_t>(last * options_.batch, problem_.examples()) - state_.batch * options_.batch;
  optimizer_.zero_grad();
  for (; state_.batch < last; ++state_.batch) {
    const std::unique_ptr<BatchInputs> chosen = inputs.next();
    const BatchLoss batch = autocast_.run([&] { return problem_.loss(*chosen); });
    if (!std::isfinite(batch.task + batch.ksvd)) {
      give_up(std::string("the loss became ") + (std::isnan(batch.task + batch.ksvd) ? "NaN" : "infinite") +
              " at step " + std::to_string(state_.step + 1));
    }
    // Batches weigh by their examples, so that accumulating gives the gradient of one large batch.
    (batch.total * (static_cast<double>(batch.examples) / static_cast<double>(examples))).backward();
    state_.sums.add(batch);
    state_.tokens += batch.tokens;
  }
  const double norm = optimizer_.gradient_norm();
  const OptimizerOptions& optimizer = optimizer_.options();
  const double base_momentum = optimizer.kind == OptimizerKind::sgd ? optimizer.momentum : optimizer.beta1;
  optimizer_.step(learning_rate(schedule_, optimizer.lr, state_.step), clip_scale(norm, options_.clip),
                  momentum(schedule_, base_momentum, state_.step));
  ++state_.step;
  average_.update(state_.step);
  ++state_.sums.steps;
  state_.sums.gradient_norm += norm;
  const double seconds = seconds_since(start);
  state_.sums.seconds += seconds;
  state_.seconds += seconds;
  show_progress();
}

void Trainer::Loop::show_progress() {
  const EpochSums& sums = state_.sums;
  const int64_t steps = steps_per_epoch();
  ProgressState shown;
  shown.epoch = state_.epoch + 1;
  shown.epochs = last_epoch();
  shown.step = sums.steps;
  shown.steps = steps;
  shown.done_steps = state_.step;
  shown.total_steps = last_epoch() * steps;
  if (sums.examples > 0) {
    const double examples = static_cast<double>(sums.examples);
    shown.loss = sums.loss / examples;
    shown.score = sums.score / examples;
    shown.measure = problem_.measure();
    shown.objective = mean(sums.objective) / examples;
    shown.tokens_per_second = static_cast<double>(sums.tokens) / sums.seconds;
  }
  progress_.update(shown);
}

void Trainer::Loop::run_epoch(const InterruptGuard& interrupt) {
  const std::vector<int64_t> order = epoch_order(problem_.examples(), options_.seed, state_.epoch);
  InputsAhead inputs(problem_, std::span(order).subspan(static_cast<size_t>(state_.batch * options_.batch)),
                     options_.batch);
  problem_.model().train();
  while (state_.batch < batches_) {
    take_step(inputs);
    // At the end of an epoch the evaluation comes first: a checkpoint after it does not have to repeat it.
    if (state_.batch == batches_) break;
    if (interrupt.interrupted()) return;
    if (wants_checkpoint()) save();
  }
  finish_epoch();
}

void Trainer::Loop::finish_epoch() {
  const EpochSums sums = std::exchange(state_.sums, {});
  state_.batch = 0;
  ++state_.epoch;
  const double examples = static_cast<double>(sums.examples);
  std::vector<double> objective = sums.objective;
  for (double& value : objective) value /= examples;
  const double rate = learning_rate(schedule_, optimizer_.options().lr, state_.step - 1);
  const double score = sums.score / examples;
  const std::string measure = key_of(problem_.measure());
  run_.metric({{"kind", "epoch"},
               {"epoch", state_.epoch},
               {"step", state_.step},
               {"loss", sums.loss / examples},
               {"task_loss", sums.task / examples},
               {"ksvd", sums.ksvd / examples},
               {measure, score},
               {"objective", objective},
               {"gradient_norm", sums.gradient_norm / static_cast<double>(sums.steps)},
               {"learning_rate", rate},
               {"seconds", sums.seconds},
               {"tokens_per_second", static_cast<double>(sums.tokens) / sums.seconds}});
  events_->scalar("train/loss", sums.task / examples, state_.step);
  events_->scalar("train/ksvd", sums.ksvd / examples, state_.step);
  events_->scalar("train/" + measure, score, state_.step);
  events_->scalar("train/learning_rate", rate, state_.step);
  for (size_t i = 0; i < objective.size(); ++i) {
    events_->scalar("train/J of layer " + std::to_string(i + 1), objective[i], state_.step);
  }
  const WeightAverage::InModel averaged(average_);
  if (options_.evaluates && options_.evaluates(state_.epoch)) evaluate();
  events_->flush();
  if (options_.after_epoch) options_.after_epoch(state_.epoch);
}

void Trainer::Loop::evaluate() {
  const auto start = Clock::now();
  problem_.model().eval();
  torch::NoGradGuard no_grad;
  const Evaluation evaluation = autocast_.run([&] { return problem_.evaluate(options_.selection); });
  if (!std::isfinite(evaluation.loss)) {
    give_up("the loss of the evaluation after epoch " + std::to_string(state_.epoch) + " is not finite");
  }
  const std::string split = options_.selection == Part::validation ? "validation" : "test";
  run_.metric({{"kind", "evaluation"},
               {"split", split},
               {"epoch", state_.epoch},
               {"step", state_.step},
               {"loss", evaluation.loss},
               {key_of(evaluation.measure), evaluation.score},
               {"objective", evaluation.objective},
               {"seconds", seconds_since(start)}});
  events_->scalar(split + "/loss", evaluation.loss, state_.step);
  events_->scalar(split + "/" + key_of(evaluation.measure), evaluation.score, state_.step);
  const bool first = state_.best.epoch < 0;
  if (!first && options_.keep == Keep::best && !is_better(evaluation, state_.best.evaluation)) return;
  state_.best = {state_.epoch, evaluation};
  const nlohmann::json facts = {
      {"epoch", state_.epoch}, {"step", state_.step}, {"split", split}, {"evaluation", evaluation}};
  save_checkpoint(run_.path(), "best", {tensors_of(problem_.model()), {}, facts.dump(2)});
}

Outcome Trainer::Loop::run() {
  const InterruptGuard interrupt;
  if (state_.epoch < last_epoch()) show_progress();
  if (state_.step == 0 && state_.best.epoch < 0 && options_.evaluates && options_.evaluates(0)) evaluate();
  while (state_.epoch < last_epoch() && !out_of_patience()) {
    run_epoch(interrupt);
    if (interrupt.interrupted()) {
      save();
      progress_.finish();
      return outcome(true);
    }
    if (wants_checkpoint()) save();
  }
  save();
  average_.give_to_model();
  // A run that is resumed with fewer epochs may stand at one that was not evaluated.
  if (options_.keep == Keep::last && options_.evaluates && state_.best.epoch != state_.epoch) evaluate();
  progress_.finish();
  return outcome(false);
}

Outcome Trainer::Loop::outcome(bool interrupted) const {
  return {interrupted, state_.epoch, state_.best, state_.seconds, state_.tokens};
}

Trainer::Trainer(Problem& problem, TrainOptions train, OptimizerOptions optimizer, ScheduleOptions schedule,
                 RunDirectory& run, Progress& progress)
    : loop_(std::make_unique<Loop>(problem, std::move(train), optimizer, schedule, run, progress)) {}
Trainer::~Trainer() = default;

Outcome Trainer::run() { return loop_->run(); }
void Trainer::restore_best() { loop_->restore_best(); }

}  // namespace primal::train

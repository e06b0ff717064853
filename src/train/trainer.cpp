#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "base/interrupt.h"
#include "primal/error.h"
#include "train/autocast.h"
#include "train/batches_ahead.h"
#include "train/checkpoint.h"
#include "train/optimizer.h"
#include "train/recorder.h"
#include "train/weight_average.h"

namespace primal::train {

namespace {

constexpr const char* kGenerator = "random_generator";  // its state, among the tensors of the optimizer

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<Optimizer::Parameter> parameters_of(Problem& problem, Decays decays) {
  std::vector<Optimizer::Parameter> parameters;
  for (const auto& entry : problem.model().named_parameters()) {
    const bool decay = decays == Decays::all || problem.decays(entry.key(), entry.value());
    parameters.push_back({entry.key(), entry.value(), decay});
  }
  return parameters;
}

OrderOptions order_options(const Problem& problem, const TrainOptions& train) {
  return {.examples = problem.examples(),
          .batch = train.batch,
          .accumulate = train.accumulate,
          .seed = train.seed,
          .passes = train.passes};
}

// The schedule with its lengths in steps, checked.
ScheduleOptions in_steps(ScheduleOptions schedule, const TrainOptions& train, const Order& order) {
  schedule.total_steps = order.steps_of(train.length);
  schedule.warmup_steps = order.steps_of(schedule.warmup);
  check(schedule);
  return schedule;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::nan("") : sum / static_cast<double>(values.size());
}

// What the function gives; an Error gets the advice.
template <typename Function>
auto with_advice(const std::string& advice, const Function& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + "; " + advice);
  }
}

struct Read {
  Checkpoint tensors;
  TrainerState state;
};

Read read_checkpoint(const std::filesystem::path& path, const Metric& metric, const Order& order) {
  return with_advice("remove " + path.string() + " to go on from the checkpoint before it", [&] {
    Read read{.tensors = load_checkpoint(path), .state = {}};
    if (read.tensors.optimizer.empty()) {
      throw Error((path / "optimizer.safetensors").string() + ": is missing or empty");
    }
    if (!read.tensors.optimizer.contains(kGenerator)) {
      throw Error((path / "optimizer.safetensors").string() + ": no " + kGenerator);
    }
    read.state = trainer_state(read.tensors.state, metric, order, (path / "state.json").string());
    return read;
  });
}

// Weights that were kept are needed at the end: better to know at the beginning that they are damaged.
void check_best(const run::RunDirectory& run, const TrainerState& state) {
  if (state.best.step < 0) return;
  with_advice("the run needs it at its end: restore it from a copy, or begin a new run",
              [&] { load_checkpoint(run.path() / "best"); });
}

const char* name_of(Part part) { return part == Part::validation ? "validation" : "test"; }

}  // namespace

void check_can_go_on(const run::RunDirectory& run, const Problem& problem, const TrainOptions& train,
                     const ScheduleOptions& schedule) {
  const Order order(order_options(problem, train));
  in_steps(schedule, train, order);
  const auto newest = latest_checkpoint(run.checkpoints());
  if (newest) check_best(run, read_checkpoint(*newest, problem.metric(), order).state);
}

class Trainer::Loop {
 public:
  Loop(Problem& problem, const TrainOptions& train, const OptimizerOptions& optimizer, const ScheduleOptions& schedule,
       TrainPlan plan, run::RunDirectory& run, base::Progress& progress)
      : problem_(problem),
        options_(train),
        plan_(std::move(plan)),
        order_(order_options(problem, train)),
        schedule_(in_steps(schedule, train, order_)),
        optimizer_(parameters_of(problem, optimizer.decays), optimizer),
        average_(problem.model(), train.average),
        autocast_(train.precision),
        run_(run),
        progress_(progress) {
    resume();
    recorder_.emplace(run, problem.metric(), state_.step);
  }

  Outcome run();
  void restore_best();

 private:
  int64_t total_steps() const { return schedule_.total_steps; }
  int64_t last_step() const { return plan_.last_step.value_or(total_steps()); }

  void resume();
  void load(const std::filesystem::path& checkpoint);
  void save();
  [[noreturn]] void give_up(const std::string& reason);
  bool wants_checkpoint() const;
  bool wants_evaluation() const;
  bool wants_record() const;
  bool out_of_patience() const;
  void take_step(BatchesAhead& batches);
  void record();
  void evaluate();
  void show_progress();
  std::string now() const;
  Outcome outcome(bool interrupted) const;

  Problem& problem_;
  TrainOptions options_;
  TrainPlan plan_;
  Order order_;
  ScheduleOptions schedule_;
  Optimizer optimizer_;
  WeightAverage average_;
  Autocast autocast_;
  run::RunDirectory& run_;
  base::Progress& progress_;
  std::optional<Recorder> recorder_;
  TrainerState state_;
  int64_t saved_step_ = -1;
  Clock::time_point saved_at_ = Clock::now();
};

void Trainer::Loop::resume() {
  const auto newest = latest_checkpoint(run_.checkpoints());
  if (!newest) {
    run_.forget_metrics_after(0);
    return;
  }
  load(*newest);
  check_best(run_, state_);
  run_.forget_metrics_after(state_.metric_bytes);
  saved_step_ = state_.step;
}

void Trainer::Loop::load(const std::filesystem::path& path) {
  Read read = read_checkpoint(path, problem_.metric(), order_);
  with_advice("config.toml or the data are not those of this checkpoint", [&] {
    const std::string optimizer_file = (path / "optimizer.safetensors").string();
    models::load_tensors(problem_.model(), read.tensors.model, (path / "model.safetensors").string());
    const auto generator = read.tensors.optimizer.extract(kGenerator);
    average_.load_state(read.tensors.optimizer, optimizer_file);
    optimizer_.load_state(read.tensors.optimizer);
    at::Generator random = at::detail::getDefaultCPUGenerator();
    random.set_state(generator.mapped().clone());
  });
  state_ = std::move(read.state);
}

void Trainer::Loop::restore_best() {
  const auto path = run_.path() / "best";
  const Checkpoint best = load_checkpoint(path);
  // They differ if a run went on from an old checkpoint and ended before it had come as far again.
  const auto step = nlohmann::json::parse(best.state, nullptr, false).value("step", state_.best.step);
  if (step != state_.best.step) {
    throw Error(path.string() + ": has the weights of step " + std::to_string(step) + ", but step " +
                std::to_string(state_.best.step) + " was chosen; resume with train.length=\"" + std::to_string(step) +
                " steps\" or more");
  }
  models::load_tensors(problem_.model(), best.model, path.string());
}

void Trainer::Loop::give_up(const std::string& reason) { throw base::Failure(reason + "; " + plan_.advice); }

void Trainer::Loop::save() {
  if (saved_step_ == state_.step) return;
  state_.metric_bytes = run_.metric_bytes();
  Checkpoint checkpoint{models::tensors_of(problem_.model()), optimizer_.state(), to_text(state_, problem_.metric())};
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

bool Trainer::Loop::wants_evaluation() const {
  if (!plan_.evaluations) return false;
  const auto is_now = [&](base::Span span) { return order_.steps_of(span) == state_.step; };
  if (std::ranges::any_of(plan_.evaluations->also, is_now)) return true;
  const int64_t every = std::max<int64_t>(order_.steps_of(plan_.evaluations->every), 1);
  return state_.step > 0 && (state_.step % every == 0 || state_.step == total_steps());
}

bool Trainer::Loop::wants_record() const {
  const int64_t every = order_.steps_of(options_.record);
  return order_.ends_pass(state_.step) || state_.step == last_step() || (every > 0 && state_.step % every == 0) ||
         wants_evaluation();
}

bool Trainer::Loop::out_of_patience() const {
  return options_.keep == Keep::best && options_.patience.count > 0 && state_.best.step >= 0 &&
         state_.step - state_.best.step >= order_.steps_of(options_.patience);
}

// "epoch 3", or "step 350" inside a pass.
std::string Trainer::Loop::now() const {
  if (!order_.ends_pass(state_.step)) return "step " + std::to_string(state_.step);
  return "epoch " + std::to_string(static_cast<int64_t>(order_.epochs_at(state_.step)));
}

// One step of the optimizer.
void Trainer::Loop::take_step(BatchesAhead& ahead) {
  const auto start = Clock::now();
  if (!problem_.model().is_training()) problem_.model().train();
  const std::vector<std::unique_ptr<Batch>> batches = ahead.next();
  int64_t weight = 0;
  for (const auto& batch : batches) weight += batch->weight;
  optimizer_.zero_grad();
  for (const auto& batch : batches) {
    const BatchLoss loss = autocast_.run([&] { return problem_.loss(*batch); });
    if (!std::isfinite(loss.task + loss.ksvd)) {
      give_up(std::string("the loss became ") + (std::isnan(loss.task + loss.ksvd) ? "NaN" : "infinite") + " at step " +
              std::to_string(state_.step + 1));
    }
    // By their weights, so that accumulating gives the gradient of one large batch.
    (loss.total * (static_cast<double>(batch->weight) / static_cast<double>(weight))).backward();
    state_.sums.add(loss, batch->weight);
    state_.tokens += loss.tokens;
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
  const RecordSums& sums = state_.sums;
  base::ProgressState shown;
  const int64_t each = order_.steps_of(base::epochs(1));
  const bool in_epochs = options_.length.unit == base::SpanUnit::epochs && order_.ends_pass(last_step());
  if (in_epochs) {
    const int64_t pass = std::max<int64_t>(state_.step - 1, 0) / each;  // of the last step
    shown.epoch = pass + 1;
    shown.epochs = last_step() / each;
    shown.step = state_.step - pass * each;
    shown.steps = each;
  } else {
    shown.counted = "step";
    shown.epoch = shown.step = state_.step;
    shown.epochs = shown.steps = last_step();
  }
  shown.done_steps = state_.step;
  shown.total_steps = last_step();
  if (sums.weight > 0) {
    const double weight = static_cast<double>(sums.weight);
    shown.loss = sums.loss / weight;
    if (!std::isnan(sums.score)) {
      shown.score_name = short_name(problem_.metric());
      shown.score = format_score(problem_.metric(), sums.score / weight);
    }
    shown.objective = mean(sums.objective) / weight;
    shown.tokens_per_second = static_cast<double>(sums.tokens) / sums.seconds;
  }
  progress_.update(shown);
}

void Trainer::Loop::record() {
  const RecordSums sums = std::exchange(state_.sums, {});
  recorder_->training(sums, state_.step, order_.epochs_at(state_.step),
                      learning_rate(schedule_, optimizer_.options().lr, state_.step - 1));
  const WeightAverage::InModel averaged(average_);
  if (wants_evaluation()) evaluate();
  recorder_->flush();
  if (plan_.after_record) plan_.after_record(state_.step, total_steps());
}

void Trainer::Loop::evaluate() {
  const auto start = Clock::now();
  problem_.model().eval();
  torch::NoGradGuard no_grad;
  const Evaluation evaluation = autocast_.run([&] { return problem_.evaluate(plan_.selection); });
  if (!std::isfinite(evaluation.loss.value_or(0)))
    give_up("the loss of the evaluation after " + now() + " is not finite");
  if (!std::isfinite(evaluation.score)) give_up("the score of the evaluation after " + now() + " is not finite");
  const std::string split = name_of(plan_.selection);
  const double epoch = order_.epochs_at(state_.step);
  recorder_->evaluation(evaluation, split, state_.step, epoch, seconds_since(start));
  const bool first = state_.best.step < 0;
  const bool better = first || is_better(problem_.metric(), evaluation, state_.best.evaluation);
  if (options_.keep == Keep::best && !better) return;
  state_.best = {state_.step, evaluation};
  const nlohmann::json facts = {{"epoch", run::whole_if_it_is(epoch)},
                                {"step", state_.step},
                                {"split", split},
                                {"evaluation", to_json(evaluation, problem_.metric())}};
  save_checkpoint(run_.path(), "best", {models::tensors_of(problem_.model()), {}, facts.dump(2)});
}

Outcome Trainer::Loop::run() {
  const base::InterruptGuard interrupt;
  if (state_.step < last_step()) show_progress();
  if (state_.step == 0 && state_.best.step < 0 && wants_evaluation()) evaluate();
  BatchesAhead batches(problem_, order_options(problem_, options_), state_.step, last_step());
  while (state_.step < last_step() && !out_of_patience()) {
    take_step(batches);
    // The evaluation comes first: a checkpoint after it does not have to repeat it.
    if (wants_record()) record();
    if (interrupt.interrupted()) {
      save();
      progress_.finish();
      return outcome(true);
    }
    if (wants_checkpoint()) save();
  }
  if (state_.sums.steps > 0) record();  // patience may end between two records
  save();
  average_.give_to_model();
  // A run that is resumed with fewer steps may stand at one that was not evaluated.
  if (options_.keep == Keep::last && plan_.evaluations && state_.best.step != state_.step) evaluate();
  progress_.finish();
  return outcome(false);
}

Outcome Trainer::Loop::outcome(bool interrupted) const {
  return {.interrupted = interrupted,
          .steps = state_.step,
          .epochs = order_.epochs_at(state_.step),
          .best = state_.best,
          .best_epoch = state_.best.step < 0 ? -1 : order_.epochs_at(state_.best.step),
          .seconds = state_.seconds,
          .tokens = state_.tokens};
}

Trainer::Trainer(Problem& problem, const TrainOptions& train, const OptimizerOptions& optimizer,
                 const ScheduleOptions& schedule, TrainPlan plan, run::RunDirectory& run, base::Progress& progress)
    : loop_(std::make_unique<Loop>(problem, train, optimizer, schedule, std::move(plan), run, progress)) {}
Trainer::~Trainer() = default;

Outcome Trainer::run() { return loop_->run(); }
void Trainer::restore_best() { loop_->restore_best(); }

}  // namespace primal::train

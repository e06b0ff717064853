#include "tasks/time_series/config.h"

#include <algorithm>

#include "nn/attention/kinds.h"
#include "primal/error.h"
#include "train/autocast.h"
#include "train/compute_threads.h"

namespace primal::tasks {

namespace {

bool is_primal(const std::string& layer) { return layer == "primal"; }

void at_least(const char* key, int64_t value, int64_t least) {
  if (value < least) throw Error(c10::str(key, ": expected at least ", least, ", got ", value));
}

void share(const char* key, double value) {
  if (!(value >= 0 && value < 1)) throw Error(c10::str(key, ": expected at least 0 and below 1, got ", value));
}

void add_data_settings(base::Settings& settings, TimeSeriesConfig& config) {
  settings.add("data.set", &config.data.set, "name of a UEA set on the search path");
  settings.add("data.train", &config.data.train, "own training file (.ts or CSV) instead of a set");
  settings.add("data.test", &config.data.test, "own test file");
  settings.add("data.validation", &config.data.validation, "share of TRAIN held out by the honest protocol");
  settings.add("data.test_share", &config.data.test_share, "share held out as TEST when only data.train is given");
}

void add_model_settings(base::Settings& settings, TimeSeriesConfig& config) {
  auto& model = config.model;
  settings.add("model.layers", &model.layers, "the attention of each layer", nn::attention_kinds());
  settings.add("model.width", &model.width, "D");
  settings.add("model.heads", &model.heads, "H");
  settings.add("model.feed_forward", &model.feed_forward, "inner width of the feed-forward part");
  settings.add("model.rank", &model.rank, "s of the kernel SVD");
  settings.add("model.rows", &model.rows,
               "n, sampled rows; 0 = rows_per_rank rank; at most the longest training series");
  settings.add("model.rows_per_rank", &model.rows_per_rank, "n / s where model.rows is 0");
  settings.add("model.kernel", &model.kernel, "steps that a token sees, odd; 1 = published");
  settings.add("model.feature_map", &model.feature_map, "phi");
  settings.add("model.dropout", &model.dropout, "everywhere");
  settings.add("model.norm_first", &model.norm_first, "pre-norm");
  settings.add("model.pooling",
               base::choice(model.pooling, {{"flatten", models::Pooling::flatten}, {"mean", models::Pooling::mean}}),
               "flatten: published; mean: over the real tokens");
  settings.add("model.padding",
               base::choice(model.padding, {{"respect", Padding::respect}, {"ignore", Padding::ignore}}),
               "ignore: published");
  settings.add(
      "model.time",
      base::choice(model.time, {{"order", models::TimeInput::order}, {"bochner", models::TimeInput::bochner}}),
      "bochner: also encodes when each step was taken");
  settings.add("model.init",
               base::choice(model.init, {{"reference", Init::reference}, {"per_head", Init::per_head_orthonormal}}),
               "of We and Wr");
}

}  // namespace

void add_settings(base::Settings& settings, TimeSeriesConfig& config) {
  settings.add("run.preset", &config.run.preset, "where the configuration began");
  settings.add("run.protocol",
               base::choice(config.run.protocol, {{"honest", Protocol::honest}, {"paper", Protocol::paper}}),
               "how the reported epoch is chosen");
  settings.add("run.refit", &config.run.refit, "honest: then train on all of TRAIN for as many epochs");
  settings.add("run.test", &config.run.test, "honest: evaluate TEST at the end; sweeps do not");
  settings.add("run.threads", &config.run.threads, "0 = one per core");
  add_data_settings(settings, config);
  add_model_settings(settings, config);
  settings.add("loss.eta", &config.loss.eta, "weight of the KSVD term");
  settings.add("loss.label_smoothing", &config.loss.label_smoothing, "of the cross entropy");
  settings.add("augment.noise", &config.augment.noise, "added to the training series, in deviations");
  settings.add("augment.scale", &config.augment.scale, "deviation of the factor of a channel");
  settings.add("augment.warp", &config.augment.warp, "largest change of tempo inside a series");
  train::add_settings(settings, config.train, config.optimizer, config.schedule);
}

void check(const TimeSeriesConfig& config) {
  if (config.model.layers.empty()) throw Error("model.layers: expected at least one layer, got none");
  at_least("model.width", config.model.width, 1);
  at_least("model.heads", config.model.heads, 1);
  if (config.model.width % config.model.heads != 0) {
    throw Error(c10::str("model.width: ", config.model.width, " is not divisible by ", config.model.heads, " heads"));
  }
  at_least("model.feed_forward", config.model.feed_forward, 1);
  at_least("model.rank", config.model.rank, 1);
  at_least("model.kernel", config.model.kernel, 1);
  if (config.model.kernel % 2 == 0) {
    throw Error(c10::str("model.kernel: expected an odd number, got ", config.model.kernel));
  }
  at_least("model.rows", config.model.rows, 0);
  at_least("model.rows_per_rank", config.model.rows_per_rank, 1);
  share("model.dropout", config.model.dropout);
  share("data.validation", config.data.validation);
  share("data.test_share", config.data.test_share);
  share("loss.label_smoothing", config.loss.label_smoothing);
  share("augment.warp", config.augment.warp);
  if (config.loss.eta < 0) throw Error(c10::str("loss.eta: expected at least 0, got ", config.loss.eta));
  at_least("train.epochs", config.train.epochs, 1);
  at_least("train.batch", config.train.batch, 1);
  at_least("train.accumulate", config.train.accumulate, 1);
  at_least("train.patience", config.train.patience, 0);
  share("train.average", config.train.average);
  at_least("train.evaluate_every", config.train.evaluate_every, 1);
  at_least("train.checkpoints_kept", config.train.checkpoints_kept, 1);
  at_least("run.threads", config.run.threads, 0);
  if (config.run.threads > train::kMostThreads) {
    throw Error(c10::str("run.threads: expected at most ", train::kMostThreads, ", got ", config.run.threads));
  }
  train::Autocast checked(config.train.precision);
  train::check(config.optimizer);
  if (config.run.refit && config.run.protocol == Protocol::paper) {
    throw Error("run.refit: belongs to the honest protocol, got run.protocol = paper");
  }
  if (config.train.keep == train::Keep::last && config.run.protocol == Protocol::paper) {
    throw Error("train.keep: last belongs to the honest protocol, got run.protocol = paper");
  }
  if (config.data.validation == 0 && config.run.protocol == Protocol::honest) {
    throw Error("data.validation: expected more than 0 with the honest protocol, which holds a part out, got 0");
  }
}

models::SequenceClassifierOptions model_options(const TimeSeriesConfig& config, int64_t channels, int64_t classes,
                                                int64_t tokens) {
  const auto& model = config.model;
  models::SequenceClassifierOptions options{.channels = channels,
                                            .classes = classes,
                                            .tokens = tokens,
                                            .kernel = model.kernel,
                                            .dropout = model.dropout,
                                            .pooling = model.pooling,
                                            .padding = model.padding,
                                            .time = model.time};
  const int64_t rows = std::min(tokens, model.rows > 0 ? model.rows : model.rows_per_rank * model.rank);
  for (const std::string& layer : model.layers) {
    options.layers.push_back(
        {.attention =
             {.kind = layer,
              .width = model.width,
              .heads = model.heads,
              .dropout = model.dropout,
              .padding = model.padding,
              .tokens = tokens,
              .primal = {.rank = model.rank, .rows = rows, .feature_map = model.feature_map, .init = model.init}},
         .feed_forward = model.feed_forward,
         .dropout = model.dropout,
         .norm_first = model.norm_first});
  }
  return options;
}

std::string model_name(const TimeSeriesConfig& config) {
  const auto& layers = config.model.layers;
  const auto primal = std::count_if(layers.begin(), layers.end(), is_primal);
  if (primal == std::ssize(layers)) return "PrimalFormer";
  if (primal == 0) return "Transformer";
  return primal == 1 && is_primal(layers.back()) ? "Primal.+" : "mixed";
}

const char* name_of(Protocol protocol) { return protocol == Protocol::honest ? "honest" : "paper"; }

}  // namespace primal::tasks

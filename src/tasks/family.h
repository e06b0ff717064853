// What a family of tasks is. docs/adding-a-family.md says how one is added; families.cpp lists them.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/search_path.h"
#include "tasks/config.h"
#include "tasks/golden_file.h"
#include "tasks/make_data.h"
#include "tasks/task.h"

namespace primal::tasks {

/// How a task is opened.
struct Opening {
  data::SearchPath search;
  /// A validation part is held out of the training data, if the family has none of its own.
  bool hold_out = true;
  /// Of a trained run: its data.json. The model is then made for these facts, and the task's own data are looked for
  /// only when they are asked for.
  std::optional<std::filesystem::path> facts{};
  /// For long work on the data: a set that is missing and can be made is made. Null: it is an error that it is missing.
  base::Progress* progress = nullptr;
};

/// A data set, for `primal data list`.
struct DataSet {
  std::string name;
  std::filesystem::path place;
};

/// What is in a set or a file, for `primal data info`.
struct DataInfo {
  std::string text;  ///< lines for people
  nlohmann::json json;
};

/// What to train for a name that is no preset: another preset, and assignments "key=value" for it.
struct StandIn {
  std::string preset;
  std::vector<std::string> set;
};

/// Golden files of whole networks: those whose metadata say model=NAME.
struct GoldenModel {
  std::string_view name;
  std::string_view naming;  ///< of the parameters, a kind of import_reference()
  /// Every result that the file has, as it has it (gradients under our names), and as we compute it. Files with "steps"
  /// in the metadata hold a course of training.
  Tensors (*expected)(const GoldenFile& file);
  Tensors (*computed)(const GoldenFile& file, at::ScalarType dtype);
};

struct Family {
  std::string_view name;  ///< as in run.family
  std::string_view help;  ///< one line
  std::unique_ptr<Config> (*config)();
  /// Reads the data and makes the model, initialised by LibTorch's generator, which is seeded by train.seed right
  /// before it: neither reader nor split has a say in the first weights.
  std::unique_ptr<Task> (*open)(const Config& config, const Opening& opening);

  // Null where a family has none.
  std::vector<DataSet> (*data_sets)(const data::SearchPath& search) = nullptr;
  /// Nothing if the name is no set or file of this family. Throws Error if it is and cannot be read.
  std::optional<DataInfo> (*data_info)(const std::string& name, const data::SearchPath& search) = nullptr;
  std::optional<StandIn> (*stand_in)(const std::string& preset, const data::SearchPath& search) = nullptr;
  std::span<const GoldenModel> golden_models{};
  std::span<const DataMaker> makers{};  ///< for `primal data make`
};

/// Every family. The first is that of configurations that name none: of runs from before there were others.
std::span<const Family> families();

/// By its name. Throws Error, which `where` begins, that lists the families.
const Family& family(std::string_view name, const std::string& where);

/// What `primal train` trains when it is told nothing, or nothing but a file.
const char* default_preset();
const char* own_files_preset();

}  // namespace primal::tasks

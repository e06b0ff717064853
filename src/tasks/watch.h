// Looks at a run while it trains: spectra, and known signs of failure.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "run/run_directory.h"
#include "tasks/task.h"

namespace primal::tasks {

using Say = std::function<void(const std::string&)>;

/// The examples that spectra are computed from unless told otherwise: some of a part, fewer of long ones.
DataChoice examples_for_spectra(Part part);

/// Whether the matrices of all layers are looked at too: of few and short samples, so that a run hardly feels it.
enum class Matrices { no, yes };

/// RUN/analysis.json, from some training examples. What keeps it from being computed does no harm to the run: `say`
/// gets a note, and the file has it too.
void analyse(Task& task, const run::RunDirectory& run, const Say& say, Matrices matrices = Matrices::no);

/// Known failure signatures, each said once, as soon as it shows.
class Watch {
 public:
  /// `say` gets a line for each; `advice` is for numbers that have run away.
  Watch(Task& task, std::string advice, run::RunDirectory& run, Say say);

  /// Throws Failure if the weights are no longer finite.
  void look();

 private:
  void say_once(const std::string& what, const std::string& text);

  Task& task_;
  std::string advice_;
  run::RunDirectory& run_;
  Say say_;
  std::set<std::string> said_;
};

}  // namespace primal::tasks

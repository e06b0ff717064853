// Runs our layers, networks and training on golden files: tensors that the published research code computed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace primal::tasks {

/// The largest error of one tensor, relative to its largest entry (or to 1e-6, if that is larger); in_double absolute,
/// and allowed 1e-12, for a gradient that the file calls zero.
struct TensorError {
  std::string name;  ///< as in the file: "out", "grad.We", ...
  double in_double;  ///< float64 computation; allowed: kDoubleTolerance
  double in_float;   ///< float32 computation
  bool double_is_ok;
  bool float_is_ok;  ///< by PyTorch's assert_close defaults for float32, entry by entry
};

struct Verification {
  std::string variant;  ///< "causal_data_independent", "time_series_classifier (primal,primal), 40 training steps", ...
  std::string sizes;    ///< "B=2 N=6 D=8 H=2 s=3"
  std::vector<TensorError> tensors;

  bool ok() const;
};

inline constexpr double kDoubleTolerance = 1e-10;

/// Every result that the file has: values and gradients, or the course of a training. Throws Error, beginning with the
/// file's name, for a file that is damaged, incomplete or of a variant that is not known. The format is described in
/// docs/golden-files.md.
Verification verify_golden_file(const std::filesystem::path& file);

}  // namespace primal::tasks

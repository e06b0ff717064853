// Something worth knowing of a run, in plain words.
#pragma once

#include <string>

namespace primal::analysis {

enum class Severity { note, warning };

struct Finding {
  Severity severity = Severity::note;
  std::string title;   ///< "Layer 2: the rank is too small"
  std::string text;    ///< what was seen, with the numbers
  std::string advice;  ///< what to try
};

}  // namespace primal::analysis

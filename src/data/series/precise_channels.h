// Channels that vary little around a large number, as 1e9 + sin(t) does: a float would lose what they say.
#pragma once

#include <cstddef>
#include <vector>

#include "data/series/series.h"

namespace primal::data {

/// Finds them while a file is read, and keeps the remainders of their values. As soon as every channel is known to be
/// an ordinary one, nothing is kept.
class PreciseChannels {
 public:
  /// `all`: keeps the remainders of every channel.
  explicit PreciseChannels(bool all) : all_(all) {}

  /// The remainders of the next case behind those of the cases before, [steps, channels]; empty = none are kept.
  void add(const Series& series, std::vector<float>& remainders);
  /// Their numbers. The remainders of channels that have proved ordinary, or constant, are dropped.
  std::vector<int64_t> finish(std::vector<float>& remainders) const;

 private:
  struct Extent {
    double lowest = 0, highest = 0;
    bool has_value = false;

    bool may_be_precise() const;
    bool is_precise() const { return may_be_precise() && lowest < highest; }
  };

  void extend(const Series& series);

  bool all_;
  std::vector<Extent> channels_;
  std::size_t values_ = 0;  ///< before the next case
};

}  // namespace primal::data

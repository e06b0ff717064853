// What the forward and the backward scan share: how the tokens are cut, and the numbers of each piece.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/moving_average.h"
#include "ops/moving_average/arguments.h"
#include "ops/parallel.h"
#include "ops/recycled_memory.h"

namespace primal::ops {

/// Some neighbouring channels of one sequence: read in stretches of a KiB, and their sums stay in L1.
struct ScanPiece {
  static constexpr int64_t kChannels = 256;
  int64_t sequence, channel, channels;
};

/// How the tokens are cut: the same for any number of threads. A chunk is kernels::kScanRows tokens.
class ScanCut {
 public:
  explicit ScanCut(const MovingAverageArguments& a)
      : batch_(a.batch()),
        tokens_(a.tokens()),
        width_(a.width()),
        per_sequence_((width_ + ScanPiece::kChannels - 1) / ScanPiece::kChannels) {
    if (!a.padding) return;
    mask_ = a.padding->contiguous();
    padded_ = mask_.const_data_ptr<bool>();
  }

  int64_t batch() const { return batch_; }
  int64_t width() const { return width_; }
  int64_t chunks() const { return (tokens_ + kernels::kScanRows - 1) / kernels::kScanRows; }
  int64_t pieces() const { return batch_ * per_sequence_; }
  ScanPiece piece(int64_t index) const {
    const int64_t channel = index % per_sequence_ * ScanPiece::kChannels;
    return {index / per_sequence_, channel, std::min(ScanPiece::kChannels, width_ - channel)};
  }
  /// Counted over all sequences.
  int64_t first_token(int64_t sequence, int64_t chunk) const { return sequence * tokens_ + chunk * kernels::kScanRows; }
  int64_t tokens_of(int64_t chunk) const { return std::min(kernels::kScanRows, tokens_ - chunk * kernels::kScanRows); }
  bool is_padded(int64_t token) const { return padded_ != nullptr && padded_[token]; }
  int64_t counted_tokens(int64_t sequence, int64_t chunk) const {
    const int64_t first = first_token(sequence, chunk);
    int64_t count = 0;
    for (int64_t t = 0; t < tokens_of(chunk); ++t) count += is_padded(first + t) ? 0 : 1;
    return count;
  }

 private:
  int64_t batch_, tokens_, width_, per_sequence_;
  at::Tensor mask_;
  const bool* padded_ = nullptr;
};

/// The rows of a piece's chunk that are not padded, in either order of time.
class ChunkRows {
 public:
  ChunkRows(const ScanCut& cut, const ScanPiece& piece, int64_t chunk, int64_t stride) : width_(piece.channels) {
    const int64_t first = cut.first_token(piece.sequence, chunk);
    for (int64_t t = 0; t < cut.tokens_of(chunk); ++t) {
      if (!cut.is_padded(first + t)) forward_[static_cast<size_t>(count_++)] = t * stride;
    }
    std::reverse_copy(forward_.begin(), forward_.begin() + count_, backward_.begin());
  }
  int64_t count() const { return count_; }
  kernels::ScanRows in_order(int64_t direction) const {
    return {(direction == 0 ? forward_ : backward_).data(), count_, width_};
  }

 private:
  std::array<int64_t, kernels::kScanRows> forward_, backward_;
  int64_t count_ = 0, width_;
};

/// Where the S x channels numbers of a piece lie in an array [R, S, D] that is stored piece by piece.
struct ScaleLayout {
  int64_t directions, scales, width;
  int64_t size() const { return directions * scales * width; }
  int64_t at(int64_t direction, const ScanPiece& piece) const { return (direction * width + piece.channel) * scales; }
};

/// w, a and what carries sums from chunk to chunk, in the dtype of the arithmetic and in double.
template <typename T>
struct Coefficients {
  ScaleLayout layout;
  std::vector<T> decay, weight;
  std::vector<double> rate;         // tokens per time scale: a = exp(-rate)
  std::vector<double> whole_chunk;  // a^kScanRows
  std::vector<T> skip;              // [D], or empty

  explicit Coefficients(const MovingAverageArguments& a) : layout{a.directions(), a.scales(), a.width()} {
    const at::Tensor log_scale = a.log_scale.to(at::kDouble).contiguous();
    const std::vector<T> w = numbers(a.weight);
    const double* from = log_scale.const_data_ptr<double>();
    const int64_t width = layout.width, group = std::max<int64_t>(1, width / std::max<int64_t>(1, log_scale.size(2)));
    for (int64_t r = 0; r < layout.directions; ++r) {
      for (int64_t channel = 0; channel < width; channel += ScanPiece::kChannels) {
        for (int64_t i = r * layout.scales; i < (r + 1) * layout.scales; ++i) {
          for (int64_t c = channel; c < std::min(width, channel + ScanPiece::kChannels); ++c) {
            // Neighbours often have one scale: three exponentials saved.
            if (c == channel || c % group == 0) {
              rate.push_back(std::exp(-from[i * (width / group) + c / group]));
              decay.push_back(static_cast<T>(std::exp(-rate.back())));
              whole_chunk.push_back(std::exp(-rate.back() * static_cast<double>(kernels::kScanRows)));
            } else {
              rate.push_back(rate.back());
              decay.push_back(decay.back());
              whole_chunk.push_back(whole_chunk.back());
            }
            weight.push_back(w[static_cast<size_t>(i * width + c)]);
          }
        }
      }
    }
    if (a.skip) skip = numbers(*a.skip);
  }

  kernels::Scales<T> scales(int64_t direction, const ScanPiece& piece) const {
    const int64_t at = layout.at(direction, piece);
    return {layout.scales, piece.channels, decay.data() + at, weight.data() + at};
  }
  const T* skip_of(const ScanPiece& piece) const { return skip.empty() ? nullptr : skip.data() + piece.channel; }

  /// sums = a^tokens sums + of_chunk. Both [S, channels].
  template <typename Number>
  void carry(int64_t direction, const ScanPiece& piece, int64_t tokens, const Number* of_chunk, double* sums) const {
    const auto from = static_cast<size_t>(layout.at(direction, piece));
    for (int64_t i = 0; i < layout.scales * piece.channels; ++i) {
      const size_t at = from + static_cast<size_t>(i);
      const double faded = tokens == kernels::kScanRows  ? whole_chunk[at]
                           : sums[i] == 0 || tokens == 0 ? 1.0
                                                         : std::exp(-rate[at] * static_cast<double>(tokens));
      sums[i] = faded * sums[i] + static_cast<double>(of_chunk[i]);
    }
  }

 private:
  static std::vector<T> numbers(const at::Tensor& tensor) {
    const at::Tensor dense = tensor.to(c10::CppTypeToScalarType<T>::value).contiguous();
    return {dense.const_data_ptr<T>(), dense.const_data_ptr<T>() + dense.numel()};
  }
};

/// The numbers of a dense tensor [B, N, D] as the kernel wants them: in place, or widened from bfloat16 by chunks.
template <typename T>
class ScanTokens {
 public:
  ScanTokens(const ScanCut& cut, const at::Tensor& tensor)
      : cut_(cut), tensor_(tensor), narrow_(tensor.scalar_type() == at::kBFloat16) {}

  /// Large ones pass by the caches, as a copy of them would: they would not find them there in any case.
  kernels::AverageOutput output() const {
    constexpr int64_t kLarge = 16 << 20, kLine = 64;
    const int64_t bytes = tensor_.numel() * static_cast<int64_t>(sizeof(T));
    const bool streams = !narrow_ && bytes >= kLarge && cut_.width() * static_cast<int64_t>(sizeof(T)) % kLine == 0;
    return streams ? kernels::AverageOutput::stream : kernels::AverageOutput::begin;
  }
  int64_t stride(const ScanPiece& piece) const { return narrow_ ? piece.channels : cut_.width(); }
  /// Where to write the rows of a chunk; finish() does the rest.
  T* take(const ScanPiece& piece, int64_t chunk, std::vector<T>& space) const {
    if (!narrow_) return tensor_.mutable_data_ptr<T>() + offset(piece, chunk);
    space.resize(static_cast<size_t>(kernels::kScanRows * piece.channels));
    return space.data();
  }
  const T* read(const ScanPiece& piece, int64_t chunk, std::vector<T>& space) const {
    if (!narrow_) return tensor_.const_data_ptr<T>() + offset(piece, chunk);
    T* rows = take(piece, chunk, space);
    if constexpr (std::is_same_v<T, float>) {
      const auto* bits = static_cast<const uint16_t*>(tensor_.const_data_ptr()) + offset(piece, chunk);
      for (int64_t t = 0; t < cut_.tokens_of(chunk); ++t) {
        kernels::widen_bfloat16(bits + t * cut_.width(), piece.channels, rows + t * piece.channels);
      }
    }
    return rows;
  }
  /// Zeros at padded tokens; brings the numbers to the tensor if they are somewhere else.
  void finish(const ScanPiece& piece, int64_t chunk, T* rows) const {
    const int64_t first = cut_.first_token(piece.sequence, chunk);
    for (int64_t t = 0; t < cut_.tokens_of(chunk); ++t) {
      T* row = rows + t * stride(piece);
      if (cut_.is_padded(first + t)) std::fill_n(row, piece.channels, T{0});
      if constexpr (std::is_same_v<T, float>) {
        if (narrow_) kernels::narrow_to_bfloat16(row, piece.channels, bits(piece, chunk, t));
      }
    }
  }

 private:
  int64_t offset(const ScanPiece& piece, int64_t chunk) const {
    return cut_.first_token(piece.sequence, chunk) * cut_.width() + piece.channel;
  }
  uint16_t* bits(const ScanPiece& piece, int64_t chunk, int64_t token) const {
    return static_cast<uint16_t*>(tensor_.mutable_data_ptr()) + offset(piece, chunk) + token * cut_.width();
  }

  const ScanCut& cut_;
  at::Tensor tensor_;
  bool narrow_;
};

/// Numbers of every chunk of every piece: [B, chunks, R, S, D], stored piece by piece.
template <typename T>
class ChunkNumbers {
 public:
  ChunkNumbers(const ScanCut& cut, ScaleLayout layout)
      : tensor_(recycled_tensor({cut.batch() * cut.chunks() * layout.size()}, c10::CppTypeToScalarType<T>::value)),
        data_(tensor_.mutable_data_ptr<T>()),
        chunks_(cut.chunks()),
        layout_(layout) {}
  T* at(int64_t direction, const ScanPiece& piece, int64_t chunk) const {
    return row(piece.sequence * chunks_ + chunk) + layout_.at(direction, piece);
  }
  /// Of one chunk, counted over all sequences.
  T* row(int64_t chunk) const { return data_ + chunk * layout_.size(); }

 private:
  at::Tensor tensor_;
  T* data_;
  int64_t chunks_;
  ScaleLayout layout_;
};

/// The sums of each chunk's own tokens, in the order of the direction, become those before its first token: carried on
/// from `before` [S, channels], which holds those after the last chunk on return.
template <typename T>
void carry_over(const ScanCut& cut, const Coefficients<T>& c, int64_t direction, bool from_the_end,
                const ScanPiece& piece, const ChunkNumbers<double>& of_chunks, std::vector<double>& before) {
  const int64_t chunks = cut.chunks();
  std::vector<double> own(before.size());
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t chunk = from_the_end ? chunks - 1 - i : i;
    double* sums = of_chunks.at(direction, piece, chunk);
    std::copy_n(sums, own.size(), own.begin());
    std::copy(before.begin(), before.end(), sums);
    c.carry(direction, piece, cut.counted_tokens(piece.sequence, chunk), own.data(), before.data());
  }
}

/// first(piece, chunk) for all chunks, then carry(piece), then last(piece, chunk). Where there are fewer pieces than
/// threads, the chunks of a piece are shared out as well.
template <typename First, typename Carry, typename Last>
void for_each_chunk_of_pieces(const ScanCut& cut, const First& first, const Carry& carry, const Last& last) {
  const int64_t pieces = cut.pieces(), chunks = cut.chunks();
  if (pieces >= at::get_num_threads() || chunks <= 1) {
    parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const ScanPiece piece = cut.piece(i);
        for (int64_t chunk = 0; chunk < chunks; ++chunk) first(piece, chunk);
        carry(piece);
        for (int64_t chunk = 0; chunk < chunks; ++chunk) last(piece, chunk);
      }
    });
    return;
  }
  const auto in_parallel = [&](const auto& body) {
    parallel_for(0, pieces * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(cut.piece(i / chunks), i % chunks);
    });
  };
  in_parallel(first);
  for (int64_t i = 0; i < pieces; ++i) carry(cut.piece(i));
  in_parallel(last);
}

/// Work space of a thread, used again by its next chunk and its next call: memory that is cleared for every chunk would
/// take a tenth of the time.
template <typename T>
class ScanSpace {
 public:
  static ScanSpace& of_thread() {
    static thread_local ScanSpace space;
    return space;
  }
  T* rounded(const double* numbers, int64_t count, std::vector<T>& to) {
    to.resize(static_cast<size_t>(count));
    std::transform(numbers, numbers + count, to.begin(), [](double number) { return static_cast<T>(number); });
    return to.data();
  }
  static T* zeros(int64_t count, std::vector<T>& to) {
    to.assign(static_cast<size_t>(count), T{0});
    return to.data();
  }

  std::vector<T> x, y, gradient;                // chunks that are widened
  std::vector<T> own, running, after, scratch;  // sums, and what the kernel wants
};

/// The sums of one sequence's channels [S, channels] out of or into a tensor [B, S, D].
inline int64_t state_offset(const at::Tensor& state, const ScanPiece& piece, int64_t scale) {
  return (piece.sequence * state.size(1) + scale) * state.size(2) + piece.channel;
}
inline std::vector<double> state_of(const at::Tensor& state, const ScanPiece& piece, int64_t scales) {
  std::vector<double> result(static_cast<size_t>(scales * piece.channels));
  for (int64_t i = 0; state.defined() && i < scales; ++i) {
    std::copy_n(state.const_data_ptr<double>() + state_offset(state, piece, i), piece.channels,
                result.begin() + i * piece.channels);
  }
  return result;
}
inline void set_state(const std::vector<double>& sums, const ScanPiece& piece, const at::Tensor& state) {
  for (int64_t i = 0; i < state.size(1); ++i) {
    std::copy_n(sums.begin() + i * piece.channels, piece.channels,
                state.mutable_data_ptr<double>() + state_offset(state, piece, i));
  }
}

}  // namespace primal::ops

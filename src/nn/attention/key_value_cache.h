// The keys and values of the tokens that an attention has seen, for decoding.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace primal::nn {

/// Room is doubled when it runs out: a token costs the copy of itself, not of the whole past.
class KeyValueCache {
 public:
  explicit KeyValueCache(int64_t batch) : batch_(batch) {}
  // A copy would write into the same memory.
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  /// keys, values: [B, H, T, d]; padding: [B, T] bool
  void append(const at::Tensor& keys, const at::Tensor& values, const std::optional<at::Tensor>& padding);

  int64_t batch() const { return batch_; }
  int64_t tokens() const { return tokens_; }       ///< N, seen so far
  at::Tensor keys() const { return used(keys_); }  ///< [B, H, N, d]
  at::Tensor values() const { return used(values_); }
  /// [B, N] bool, true = padded; absent while no padding was given
  std::optional<at::Tensor> padding() const;

 private:
  void make_room(const at::Tensor& like, int64_t tokens, bool padded);
  at::Tensor used(const at::Tensor& room) const { return room.narrow(2, 0, tokens_); }

  int64_t batch_;
  int64_t tokens_ = 0, room_ = 0;
  at::Tensor keys_, values_;  // [B, H, room, d]
  at::Tensor padding_;        // [B, room], or undefined
};

}  // namespace primal::nn

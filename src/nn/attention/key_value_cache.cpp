#include "nn/attention/key_value_cache.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::nn {

namespace {

constexpr int64_t kFirstRoom = 64;  // tokens: a few kilobytes per head, and no growth for short sequences

}  // namespace

void KeyValueCache::append(const at::Tensor& keys, const at::Tensor& values, const std::optional<at::Tensor>& padding) {
  const int64_t more = keys.size(2);
  make_room(keys, tokens_ + more, padding.has_value());
  keys_.narrow(2, tokens_, more).copy_(keys);
  values_.narrow(2, tokens_, more).copy_(values);
  if (padding) padding_.narrow(1, tokens_, more).copy_(*padding);
  tokens_ += more;
}

std::optional<at::Tensor> KeyValueCache::padding() const {
  return padding_.defined() ? std::optional(padding_.narrow(1, 0, tokens_)) : std::nullopt;
}

void KeyValueCache::make_room(const at::Tensor& like, int64_t tokens, bool padded) {
  const bool grows = tokens > room_ || !keys_.defined();
  if (grows) {
    room_ = std::max({tokens, 2 * room_, kFirstRoom});
    for (at::Tensor* tensor : {&keys_, &values_}) {
      at::Tensor larger = at::empty({batch_, like.size(1), room_, like.size(3)}, like.options());
      if (tensor->defined()) larger.narrow(2, 0, tokens_).copy_(used(*tensor));
      *tensor = larger;
    }
  }
  if (padding_.defined() ? grows : padded) {
    at::Tensor larger = at::zeros({batch_, room_}, like.options().dtype(at::kBool));
    if (padding_.defined()) larger.narrow(1, 0, tokens_).copy_(padding_.narrow(1, 0, tokens_));
    padding_ = larger;
  }
}

}  // namespace primal::nn

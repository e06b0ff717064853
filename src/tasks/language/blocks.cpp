#include "tasks/language/blocks.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "primal/error.h"

namespace primal::tasks {

namespace {

// What no window reaches across.
std::vector<Window> stretches(const data::TokenStream& text, Breaks breaks) {
  if (breaks == Breaks::none) return {{.begin = 0, .end = text.size(), .begins_document = true}};
  std::vector<Window> all;
  for (int64_t i = 0; i < text.documents(); ++i) {
    all.push_back({.begin = text.document_start(i), .end = text.document_start(i + 1), .begins_document = true});
  }
  return all;
}

}  // namespace

std::vector<Window> training_blocks(const data::TokenStream& text, int64_t block, Breaks breaks) {
  std::vector<Window> all;
  for (const Window& stretch : stretches(text, breaks)) {
    for (int64_t begin = stretch.begin; begin < stretch.end; begin += block) {
      int64_t first = begin;
      if (breaks == Breaks::none) first = std::max(stretch.begin, std::min(begin, stretch.end - block));
      all.push_back({.begin = first,
                     .end = std::min(first + block, stretch.end),
                     .scored = first,
                     .begins_document = first == stretch.begin});
    }
  }
  return all;
}

std::vector<Window> scoring_windows(const data::TokenStream& text, int64_t block, int64_t context, Breaks breaks) {
  std::vector<Window> all;
  for (const Window& stretch : stretches(text, breaks)) {
    for (int64_t scored = stretch.begin; scored < stretch.end;) {
      // The first window has no context to read, so all of it is scored.
      const int64_t begin = std::max(stretch.begin, scored - context), end = std::min(begin + block, stretch.end);
      all.push_back({.begin = begin, .end = end, .scored = scored, .begins_document = begin == stretch.begin});
      scored = end;
    }
  }
  return all;
}

BlockBatch batch_of(const data::TokenStream& text, std::span<const Window> windows, int64_t end,
                    std::optional<int64_t> padding) {
  int64_t longest = 0;
  for (const Window& window : windows) longest = std::max(longest, window.size());
  const std::vector<int64_t> sizes{std::ssize(windows), longest};
  BlockBatch batch{.ids = at::full(sizes, padding.value_or(0), at::kLong),
                   .targets = at::full(sizes, padding.value_or(0), at::kLong)};
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    if (window.size() != longest && !padding) throw Error("windows of unequal length need padding");
    int64_t* ids = batch.ids.data_ptr<int64_t>() + static_cast<int64_t>(i) * longest;
    text.ids(window.begin, window.size(), batch.targets.data_ptr<int64_t>() + static_cast<int64_t>(i) * longest);
    ids[0] = window.begins_document ? end : text.id(window.begin - 1);
    if (window.size() > 1) text.ids(window.begin, window.size() - 1, ids + 1);
    batch.tokens += window.size();
  }
  return batch;
}

}  // namespace primal::tasks

// The parameter names and shapes of the published code bases, as tables.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace primal::reference_names {

enum class Transform {
  kKeep,
  kTranspose,  // [in, out] -> [out, in]
  kDropOnes,   // the axes written as "1" disappear
};

/// Axes of a published tensor, e.g. {"d", "2s"}: a factor times symbols of one letter. A symbol has one size in the
/// whole model, or in the layer if it first occurs there.
using Axes = std::vector<std::string>;

/// Where one published tensor goes.
struct Rule {
  std::string published;
  std::vector<std::string> ours;  // several: equal parts of the first axis (after the transform); none: dropped
  Axes axes = {};                 // none: any shape
  Transform transform = Transform::kKeep;
  bool required = true;
  std::string tied_to{};  // published name of the tensor that this one must equal
};

using Rules = std::vector<Rule>;

/// One way to build an attention layer. Names are relative to the layer, so that the rules also serve a layer alone.
struct Attention {
  std::string prefix;  // of the layer inside its block
  Rules rules;
};

struct Kind {
  std::string name;
  Rules model;                        // outside of the blocks
  std::string block_prefix;           // with {i} for the number of the block
  Rules block;                        // one block without its attention
  std::vector<Attention> attentions;  // primal, softmax
};

/// The five published code bases.
const std::vector<Kind>& kinds();

/// Size of a symbol of the axes, and the key that fixed it.
struct Size {
  int64_t value;
  std::string key;
};
using Sizes = std::map<char, Size>;

/// Fixes the symbols that this tensor is the first to show and compares the others. Returns what is wrong, with both
/// shapes, or an empty string.
std::string fit_shape(const Rule& rule, std::span<const int64_t> shape, Sizes& sizes);

}  // namespace primal::reference_names

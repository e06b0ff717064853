// Which rules of the tables apply to the given keys; check keys, then shapes; then rename and reshape.
#include "primal/import_reference.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "models/reference_names.h"
#include "primal/error.h"

namespace primal {
namespace {

using reference_names::Attention;
using reference_names::Kind;
using reference_names::Rule;
using reference_names::Rules;
using reference_names::Transform;

/// The rules of the model, followed by those of each of its blocks; or those of an attention layer alone.
using Scopes = std::vector<Rules>;

template <typename Range>
std::string joined(const Range& parts, const char* separator = ", ") {
  std::ostringstream text;
  const char* before = "";
  for (const auto& part : parts) text << std::exchange(before, separator) << part;
  return text.str();
}

[[noreturn]] void fail(const Kind& kind, const std::string& what) {
  throw Error("import_reference(" + kind.name + "): " + what);
}

const Kind& find_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const Kind& kind : reference_names::kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw Error("import_reference: unknown kind \"" + name + "\", expected one of " + joined(names));
}

/// DataParallel puts "module." before every name.
StateDict without_module_prefix(const Kind& kind, const StateDict& reference) {
  constexpr std::string_view prefix = "module.";
  const bool wrapped = std::ranges::all_of(reference, [&](const auto& item) { return item.first.starts_with(prefix); });
  StateDict plain;
  for (const auto& [key, tensor] : reference) {
    if (!tensor.defined()) fail(kind, key + ": expected a tensor, given an undefined one");
    plain.emplace(wrapped ? key.substr(prefix.size()) : key, tensor.detach());
  }
  return plain;
}

// ---- rules that apply ----

Rules with_prefix(Rules rules, const std::string& published, const std::string& ours) {
  for (Rule& rule : rules) {
    rule.published.insert(0, published);
    for (std::string& name : rule.ours) name.insert(0, ours);
  }
  return rules;
}

std::string numbered(std::string pattern, int64_t number) {
  return pattern.replace(pattern.find("{i}"), 3, std::to_string(number));
}

/// The number of the block that the key belongs to, written as the published code writes it (no sign, no leading zero).
std::optional<int64_t> block_number(const Kind& kind, const std::string& key) {
  const std::string before = kind.block_prefix.substr(0, kind.block_prefix.find("{i}"));
  if (!key.starts_with(before)) return std::nullopt;
  int64_t number = -1;
  std::from_chars(key.data() + before.size(), key.data() + key.size(), number);
  if (number < 0 || !key.starts_with(numbered(kind.block_prefix, number))) return std::nullopt;
  return number;
}

std::set<int64_t> block_numbers(const Kind& kind, const StateDict& given) {
  std::set<int64_t> numbers;
  for (const auto& [key, tensor] : given) {
    if (const auto number = block_number(kind, key)) numbers.insert(*number);
  }
  if (numbers.empty()) return {0};  // so that the keys of a first block are reported as missing
  const auto last = static_cast<int64_t>(numbers.size()) - 1;
  if (*numbers.rbegin() != last) {
    fail(kind, "layers " + kind.block_prefix + "* are numbered " + joined(numbers) + ", expected 0.." +
                   std::to_string(last) + " without gaps");
  }
  return numbers;
}

int64_t count_present(const Rules& rules, const StateDict& given) {
  return std::ranges::count_if(rules, [&](const Rule& rule) { return given.contains(rule.published); });
}

/// The variant that leaves the fewest keys missing or unknown.
Rules closest(const std::vector<Rules>& variants, const StateDict& given) {
  const auto score = [&](const Rules& rules) {
    const auto absent = [&](const Rule& rule) { return rule.required && !given.contains(rule.published); };
    return count_present(rules, given) - std::ranges::count_if(rules, absent);
  };
  return *std::ranges::max_element(variants, {}, score);
}

Rules attention_rules(const Kind& kind, const StateDict& given) {
  std::vector<Rules> variants;
  for (const Attention& attention : kind.attentions) variants.push_back(attention.rules);
  return closest(variants, given);
}

Rules block_rules(const Kind& kind, int64_t number, const StateDict& given) {
  const std::string published = numbered(kind.block_prefix, number);
  const std::string ours = numbered("encoder.layers.{i}.", number);
  std::vector<Rules> variants;
  for (const Attention& attention : kind.attentions) {
    variants.push_back(with_prefix(attention.rules, published + attention.prefix, ours + "attention."));
  }
  Rules rules = with_prefix(kind.block, published, ours);
  std::ranges::move(closest(variants, given), std::back_inserter(rules));
  return rules;
}

Scopes applicable_rules(const Kind& kind, const StateDict& given) {
  const auto of_model = count_present(kind.model, given) + std::ranges::count_if(given, [&](const auto& item) {
                          return block_number(kind, item.first).has_value();
                        });
  const Rules layer = attention_rules(kind, given);
  if (count_present(layer, given) > of_model) return {layer};
  Scopes scopes = {kind.model};
  for (const int64_t number : block_numbers(kind, given)) scopes.push_back(block_rules(kind, number, given));
  return scopes;
}

// ---- checks ----

void check_keys(const Kind& kind, const Scopes& scopes, const StateDict& given) {
  std::set<std::string> known, missing, unknown;
  for (const Rules& rules : scopes) {
    for (const Rule& rule : rules) {
      known.insert(rule.published);
      if (rule.required && !given.contains(rule.published)) missing.insert(rule.published);
    }
  }
  for (const auto& [key, tensor] : given) {
    if (!known.contains(key)) unknown.insert(key);
  }
  std::vector<std::string> complaints;
  if (!missing.empty()) complaints.push_back("missing keys: " + joined(missing));
  if (!unknown.empty()) complaints.push_back("unknown keys: " + joined(unknown));
  if (!complaints.empty()) fail(kind, joined(complaints, "; "));
}

void check_shapes(const Kind& kind, const Scopes& scopes, const StateDict& given) {
  reference_names::Sizes of_model;
  for (const Rules& rules : scopes) {
    reference_names::Sizes sizes = of_model;
    for (const Rule& rule : rules) {
      const auto item = given.find(rule.published);
      if (item == given.end() || rule.axes.empty()) continue;
      const auto shape = item->second.sizes();
      const std::string complaint = reference_names::fit_shape(rule, {shape.data(), shape.size()}, sizes);
      if (!complaint.empty()) fail(kind, complaint);
    }
    if (&rules == &scopes.front()) of_model = sizes;
  }
}

void check_tied(const Kind& kind, const Rule& rule, const StateDict& given) {
  if (rule.tied_to.empty()) return;
  const torch::Tensor& copy = given.at(rule.published);
  const torch::Tensor& original = given.at(rule.tied_to);
  if (copy.dtype() != original.dtype() || !copy.equal(original)) {
    fail(kind, rule.published + " differs from " + rule.tied_to + ", expected a tied copy of it");
  }
}

// ---- renaming ----

torch::Tensor transformed(const Rule& rule, const torch::Tensor& tensor) {
  if (rule.transform == Transform::kTranspose) return tensor.t();
  if (rule.transform == Transform::kKeep) return tensor;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < rule.axes.size(); ++i) {
    if (rule.axes[i] != "1") sizes.push_back(tensor.size(static_cast<int64_t>(i)));
  }
  return tensor.reshape(sizes);
}

void add_renamed(const Rule& rule, const torch::Tensor& tensor, StateDict& ours) {
  if (rule.ours.empty()) return;
  const torch::Tensor whole = transformed(rule, tensor);
  if (rule.ours.size() == 1) {
    ours.emplace(rule.ours.front(), whole.contiguous());
    return;
  }
  const auto parts = whole.chunk(static_cast<int64_t>(rule.ours.size()), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    // Parts that share memory could not be trained or stored one by one.
    ours.emplace(rule.ours[i], parts[i].clone(at::MemoryFormat::Contiguous));
  }
}

}  // namespace

StateDict import_reference(const StateDict& reference, const std::string& kind_name) {
  const Kind& kind = find_kind(kind_name);
  const StateDict given = without_module_prefix(kind, reference);
  const Scopes scopes = applicable_rules(kind, given);
  check_keys(kind, scopes, given);
  check_shapes(kind, scopes, given);
  StateDict ours;
  for (const Rules& rules : scopes) {
    for (const Rule& rule : rules) {
      const auto item = given.find(rule.published);
      if (item == given.end()) continue;
      check_tied(kind, rule, given);
      add_renamed(rule, item->second, ours);
    }
  }
  return ours;
}

}  // namespace primal

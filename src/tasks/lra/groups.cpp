#include "tasks/lra/groups.h"

#include <algorithm>
#include <map>

#include "data/tokens/listops_expression.h"

namespace primal::tasks {

namespace {

constexpr int64_t kMostLengthRows = 8;

// Rows in the order of their keys.
template <typename Key, typename Name>
run::CaseGroup counted(const std::string& name, const ExaminedSet& examined, const Key& key_of, const Name& name_of) {
  std::map<int64_t, run::GroupRow> rows;
  for (int64_t i = 0; i < examined.set.examples(); ++i) {
    if (!examined.is_asked(i)) continue;
    run::GroupRow& row = rows[key_of(i)];
    ++row.cases;
    row.right += examined.is_right(i);
  }
  run::CaseGroup group{.name = name, .rows = {}};
  for (auto& [key, row] : rows) {
    row.name = name_of(key);
    group.rows.push_back(row);
  }
  return group;
}

run::CaseGroup by_root(const ExaminedSet& examined) {
  const auto root = [&](int64_t example) -> int64_t {
    return data::listops_root(examined.set.sequence(example)).value_or(0);
  };
  // Operators are written with the bracket that they open.
  const auto name = [](int64_t token) {
    return token == 0 ? "none" : std::string(data::kListOpsTokens[static_cast<size_t>(token)].substr(1));
  };
  return counted("root operator", examined, root, name);
}

// The smallest of 1, 2, 5, 10, 25, 50, 100, 250, ... of which at most kMostLengthRows cover this range of lengths.
int64_t row_width(int64_t shortest, int64_t longest) {
  const auto rows = [&](int64_t width) { return (longest - 1) / width - (shortest - 1) / width + 1; };
  for (const int64_t small : {1, 2, 5}) {
    if (rows(small) <= kMostLengthRows) return small;
  }
  for (int64_t ten = 10;; ten *= 10) {
    for (const int64_t width : {ten, ten * 5 / 2, ten * 5}) {
      if (rows(width) <= kMostLengthRows) return width;
    }
  }
}

run::CaseGroup by_length(const ExaminedSet& examined) {
  const data::TokenSet& set = examined.set;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < set.examples(); ++i) {
    const int64_t second = set.per_example == 2 ? set.length(i, 1) : 0;
    lengths.push_back(std::max<int64_t>(set.length(i) + second, 1));
  }
  const auto [shortest, longest] = std::ranges::minmax(lengths);
  const int64_t width = row_width(shortest, longest);
  const auto row = [&](int64_t example) { return (lengths[static_cast<size_t>(example)] - 1) / width; };
  const auto name = [&](int64_t key) {
    const std::string last = std::to_string((key + 1) * width);
    return width == 1 ? last : std::to_string(key * width + 1) + " to " + last;
  };
  return counted(set.per_example == 2 ? "length of both" : "length", examined, row, name);
}

}  // namespace

std::vector<run::ReferenceLine> reference_lines(const LraSource& source, size_t classes) {
  if (source.name == "listops") {
    // Counted on 12,000 expressions, drawn by the published rules: what the best guess reaches that knows nothing; the
    // outermost operator; that and the digits which are its own arguments.
    return {{"majority class (expected of published data)", 0.172},
            {"first token alone (expected of published data)", 0.365},
            {"one level (expected of published data)", 0.51}};
  }
  if (classes == 0) return {};
  return {{"chance", 1 / static_cast<double>(classes)}};
}

std::vector<run::CaseGroup> groups_of(const ExaminedSet& examined, const LraSource& source) {
  std::vector<run::CaseGroup> groups;
  if (examined.set.examples() == 0 || source.is_image) return groups;
  if (source.name == "listops") groups.push_back(by_root(examined));
  groups.push_back(by_length(examined));
  // A single row says what the score says.
  std::erase_if(groups, [](const run::CaseGroup& group) { return group.rows.size() < 2; });
  return groups;
}

}  // namespace primal::tasks

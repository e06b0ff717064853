// Lists among the details of an evaluation, as JSON and back.
#pragma once

#include <string>
#include <vector>

#include "base/json_fields.h"
#include "run/evaluation.h"

namespace primal::run {

/// An empty list is left out.
template <typename Item>
void put_list(Evaluation& evaluation, const char* key, const std::vector<Item>& items,
              nlohmann::json (*json_of)(const Item&)) {
  if (items.empty()) return;
  nlohmann::json& list = evaluation.details[key] = nlohmann::json::array();
  for (const Item& item : items) list.push_back(json_of(item));
}

/// A list that is missing is empty. Throws Error, which `where` begins, for what is of another kind.
template <typename Item>
std::vector<Item> list_from(const Evaluation& evaluation, const std::string& where, const char* key,
                            Item (*item_from)(const base::Fields&)) {
  std::vector<Item> items;
  if (!evaluation.details.contains(key)) return items;
  for (const base::Fields& fields : base::Fields(evaluation.details, where).objects(key)) {
    items.push_back(item_from(fields));
  }
  return items;
}

}  // namespace primal::run

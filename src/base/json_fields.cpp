#include "base/json_fields.h"

#include <primal/error.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace primal::base {
namespace {

using Json = nlohmann::json;

/// Numbers in error messages are short; a string or an array is named by its kind only.
std::string kind_of(const Json& value) {
  if (value.is_number()) return value.dump();
  return value.is_null() ? "null" : std::string("a value of kind ") + value.type_name();
}

}  // namespace

Json parse_object(std::string_view text, const std::string& where) {
  Json value;
  try {
    value = Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...; last read: '<the rest of the file>'"
    std::string_view reason = error.what();
    reason = reason.substr(0, reason.find("; last read"));
    if (const std::size_t start = reason.find("] "); start != reason.npos) reason.remove_prefix(start + 2);
    throw Error(where + ": not valid JSON: " + std::string(reason));
  }
  if (!value.is_object()) throw Error(where + ": expected an object, got " + kind_of(value));
  return value;
}

void Fields::fail(const char* key, const std::string& what) const {
  throw Error(where_ + ": field \"" + key + "\": " + what);
}

bool Fields::has(const char* key) const { return object_.contains(key); }

const Json& Fields::get(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) fail(key, "is missing");
  return *found;
}

const Json& Fields::array(const char* key) const {
  const Json& value = get(key);
  if (!value.is_array()) fail(key, "expected an array, got " + kind_of(value));
  return value;
}

double Fields::number_in(const Json& value, const char* key) const {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) fail(key, "expected a number, got " + kind_of(value));
  return value.get<double>();
}

std::int64_t Fields::whole_in(const Json& value, const char* key) const {
  const bool is_whole = value.is_number_integer() && value >= 0 && value <= std::numeric_limits<std::int64_t>::max();
  if (!is_whole) fail(key, "expected a whole number from 0, got " + kind_of(value));
  return value.get<std::int64_t>();
}

double Fields::number(const char* key) const { return number_in(get(key), key); }
double Fields::number_if_any(const char* key) const {
  return has(key) ? number(key) : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t Fields::whole(const char* key) const { return whole_in(get(key), key); }
std::int64_t Fields::whole_if_any(const char* key) const { return has(key) ? whole(key) : 0; }

std::string Fields::text(const char* key) const {
  const Json& value = get(key);
  if (!value.is_string()) fail(key, "expected a string, got " + kind_of(value));
  return value.get<std::string>();
}
std::string Fields::text_if_any(const char* key) const { return has(key) ? text(key) : ""; }

bool Fields::flag_if_any(const char* key) const {
  if (!has(key)) return false;
  const Json& value = get(key);
  if (!value.is_boolean()) fail(key, "expected true or false, got " + kind_of(value));
  return value.get<bool>();
}

std::vector<double> Fields::numbers_if_any(const char* key) const {
  std::vector<double> numbers;
  if (!has(key) || get(key).is_null()) return numbers;
  for (const Json& value : array(key)) numbers.push_back(number_in(value, key));
  return numbers;
}

std::vector<std::vector<double>> Fields::number_rows(const char* key) const {
  std::vector<std::vector<double>> rows;
  for (const Json& row : array(key)) {
    if (!row.is_array()) fail(key, "expected rows of numbers, got " + kind_of(row));
    for (rows.emplace_back(); const Json& value : row) rows.back().push_back(number_in(value, key));
  }
  return rows;
}

std::vector<std::int64_t> Fields::wholes(const char* key) const {
  std::vector<std::int64_t> wholes;
  for (const Json& value : array(key)) wholes.push_back(whole_in(value, key));
  return wholes;
}

std::vector<std::vector<std::int64_t>> Fields::whole_rows(const char* key) const {
  std::vector<std::vector<std::int64_t>> rows;
  for (const Json& row : array(key)) {
    if (!row.is_array()) fail(key, "expected rows of whole numbers, got " + kind_of(row));
    for (rows.emplace_back(); const Json& value : row) rows.back().push_back(whole_in(value, key));
  }
  return rows;
}

std::vector<std::string> Fields::texts(const char* key) const {
  std::vector<std::string> texts;
  for (const Json& value : array(key)) {
    if (!value.is_string()) fail(key, "expected strings, got " + kind_of(value));
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

Fields Fields::object(const char* key) const {
  const Json& value = get(key);
  if (!value.is_object()) fail(key, "expected an object, got " + kind_of(value));
  return {value, where_ + ": " + key};
}

std::vector<Fields> Fields::objects(const char* key) const {
  std::vector<Fields> objects;
  for (const Json& value : array(key)) {
    if (!value.is_object()) fail(key, "expected objects, got " + kind_of(value));
    objects.emplace_back(value, where_ + ": " + key + "[" + std::to_string(objects.size()) + "]");
  }
  return objects;
}

}  // namespace primal::base

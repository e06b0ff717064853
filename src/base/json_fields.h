// Typed access to the fields of one JSON object, with errors that name file, line and field.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace primal::base {

/// Parses `text`, which must be one JSON object. Throws primal::Error, "<where>: ...".
nlohmann::json parse_object(std::string_view text, const std::string& where);

/// Refers to the object: keep it alive. Every getter throws primal::Error, `<where>: field "loss": ...`, if the field
/// has another type, or is missing where nothing is said of that.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  double number(const char* key) const;              ///< null = NaN, as JSON knows no NaN
  double number_if_any(const char* key) const;       ///< NaN if missing
  std::int64_t whole(const char* key) const;         ///< from 0
  std::int64_t whole_if_any(const char* key) const;  ///< 0 if missing
  std::string text(const char* key) const;
  std::string text_if_any(const char* key) const;  ///< "" if missing
  bool flag_if_any(const char* key) const;         ///< false if missing

  std::vector<double> numbers_if_any(const char* key) const;  ///< empty if missing or null
  std::vector<std::int64_t> wholes(const char* key) const;
  std::vector<std::vector<double>> number_rows(const char* key) const;
  std::vector<std::vector<std::int64_t>> whole_rows(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  Fields object(const char* key) const;
  std::vector<Fields> objects(const char* key) const;

  [[noreturn]] void fail(const char* key, const std::string& what) const;

 private:
  const nlohmann::json& get(const char* key) const;
  const nlohmann::json& array(const char* key) const;
  bool has(const char* key) const;
  double number_in(const nlohmann::json& value, const char* key) const;
  std::int64_t whole_in(const nlohmann::json& value, const char* key) const;

  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace primal::base

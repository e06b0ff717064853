#include "tasks/read_table.h"

#include <ATen/ATen.h>
#include <primal/safetensors.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/text.h"
#include "data/tables/number_table.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTensorFile = ".safetensors";

// "file.safetensors:name" -> file and name.
std::pair<std::string, std::string> file_and_tensor(const std::string& file) {
  const size_t at = file.rfind(std::string(kTensorFile) + ":");
  if (at == std::string::npos || fs::exists(file)) return {file, ""};
  return {file.substr(0, at + kTensorFile.size()), file.substr(at + kTensorFile.size() + 1)};
}

std::string names_in(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors) names.push_back(base::in_quotes(name));
  return base::joined(names, ", ");
}

at::Tensor chosen_tensor(const std::string& path, const std::string& name) {
  const SafetensorsFile file = load_safetensors(path);
  if (!name.empty()) {
    const auto found = file.tensors.find(name);
    if (found != file.tensors.end()) return found->second;
    base::fail(path, "there is no tensor ", base::in_quotes(name), "; there are ", names_in(file));
  }
  if (file.tensors.size() == 1) return file.tensors.begin()->second;
  if (file.tensors.empty()) base::fail(path, "has no tensor, expected one [rows, columns]");
  base::fail(path, "has several tensors, name one as in ", path, ":NAME; there are ", names_in(file));
}

void check_kind(const std::string& name, const at::Tensor& values) {
  if (values.dim() != 2 || values.numel() == 0) {
    std::vector<std::string> sizes;
    for (const int64_t size : values.sizes()) sizes.push_back(std::to_string(size));
    base::fail(name, "expected a tensor [rows, columns] with numbers in it, got [", base::joined(sizes, ", "), "]");
  }
  const at::ScalarType dtype = values.scalar_type();
  const bool is_known = dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || dtype == at::kBFloat16 ||
                        dtype == at::kChar || dtype == at::kByte || dtype == at::kShort || dtype == at::kInt ||
                        dtype == at::kLong;
  if (!is_known) base::fail(name, "expected real or whole numbers, got ", at::toString(dtype));
}

// The place of the first number that is none. A sum tells in one pass whether there may be one.
void check_finite(const std::string& name, const at::Tensor& values) {
  if (!values.is_floating_point()) return;
  constexpr int64_t kRows = 65536;
  for (int64_t first = 0; first < values.size(0); first += kRows) {
    const at::Tensor rows = values.narrow(0, first, std::min(kRows, values.size(0) - first));
    if (std::isfinite(rows.sum().item<double>())) continue;
    const at::Tensor wrong = at::isfinite(rows).logical_not().nonzero();
    if (wrong.size(0) == 0) continue;  // large numbers
    const int64_t row = wrong[0][0].item<int64_t>(), column = wrong[0][1].item<int64_t>();
    const double value = rows[row][column].item<double>();
    base::fail(name, "row ", first + row + 1, ", column ", column + 1, ": expected a finite number, got ",
               std::isnan(value) ? "NaN"
               : value > 0       ? "infinity"
                                 : "-infinity");
  }
}

Table table_of_text(const std::string& file) {
  if (fs::is_directory(file)) base::fail(file, "is a folder, expected a table: CSV or safetensors");
  auto read = std::make_shared<data::NumberTable>(data::read_number_table(data::LineSource(fs::path(file))));
  Table table{.name = file, .values = {}, .names = std::move(read->names)};
  table.values = at::from_blob(
      read->values.data(), {read->rows, read->columns}, [read](void*) {}, at::TensorOptions(at::kDouble));
  return table;
}

}  // namespace

Table read_table(const std::string& file) {
  const auto [path, tensor] = file_and_tensor(file);
  if (!path.ends_with(kTensorFile)) return table_of_text(file);
  Table table{.name = file, .values = chosen_tensor(path, tensor), .names = {}};
  check_kind(file, table.values);
  check_finite(file, table.values);
  return table;
}

}  // namespace primal::tasks

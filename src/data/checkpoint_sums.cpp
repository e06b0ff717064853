#include "data/checkpoint_sums.h"

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/json_file.h"
#include "base/mapped_file.h"
#include "primal/error.h"

namespace primal::data {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr const char* kChecksums = "checksums";

std::string checksum_of_file(const fs::path& path) {
  return base::crc32c_text(base::MappedFile(path, "tensors").text());
}

void check_sum(const Json& checksums, const char* name, const fs::path& file, const std::string& found) {
  if (!checksums.contains(name) || checksums[name] == found) return;
  throw Error(file.string() + ": is damaged: its checksum is " + found + ", expected " + checksums[name].dump());
}

}  // namespace

std::string with_checksums(const std::string& state, const fs::path& folder) {
  Json json = Json::parse(state);
  Json checksums = {{kStateFile, base::crc32c_text(json.dump())}};
  for (const char* name : {kModelFile, kOptimizerFile}) {
    if (fs::exists(folder / name)) checksums[name] = checksum_of_file(folder / name);
  }
  json[kChecksums] = checksums;
  return json.dump(2) + "\n";
}

std::string checked_state(const fs::path& folder) {
  const fs::path file = folder / kStateFile;
  const auto state = base::read_text_if_any(file);
  if (!state) throw Error(file.string() + ": is missing");
  Json json = Json::parse(*state, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw Error(file.string() + ": is damaged: expected a JSON object");
  if (!json.contains(kChecksums)) return *state;
  const Json checksums = json[kChecksums];
  json.erase(kChecksums);
  check_sum(checksums, kStateFile, file, base::crc32c_text(json.dump()));
  for (const char* name : {kModelFile, kOptimizerFile}) {
    if (!checksums.contains(name)) continue;
    if (!fs::exists(folder / name)) throw Error((folder / name).string() + ": is missing");
    check_sum(checksums, name, folder / name, checksum_of_file(folder / name));
  }
  return *state;
}

}  // namespace primal::data

#include "tasks/language/fetch_enwik8.h"

#include <cstdlib>
#include <fstream>

#include "base/crc32c.h"
#include "base/mapped_file.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "tasks/locations.h"
#include "tasks/run_program.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

// Pinned by its hash: nothing else is unpacked, nor asked for its metadata, for which pip runs its build.
constexpr const char* kRequirement =
    "mingru-pytorch==0.2.1 --hash=sha256:fc9b278b4e04db930a5cd4cdab36e2713b1d6e14084269b161d4f133819e758d\n";
constexpr const char* kArchive = "mingru_pytorch-0.2.1.tar.gz";
constexpr std::size_t kEnwik8Bytes = 100'000'000;
constexpr uint32_t kEnwik8Sum = 0x2e25c872;  // CRC-32C

constexpr const char* kUnpack = R"(
import gzip, shutil, sys, tarfile
with tarfile.open(sys.argv[1]) as archive, open(sys.argv[2], 'wb') as target:
    packed = archive.extractfile('mingru_pytorch-0.2.1/data/enwik8.gz')
    shutil.copyfileobj(gzip.open(packed), target, 1 << 20)
)";

/// Takes the folder away again if nothing came of it.
struct NoEmptyFolder {
  fs::path folder;
  ~NoEmptyFolder() {
    std::error_code ignored;
    fs::remove(folder, ignored);
  }
};

std::string python_program() {
  const char* const active = std::getenv("VIRTUAL_ENV");
  for (const fs::path& environment : {checkout() / ".venv", fs::path(active ? active : "")}) {
    const fs::path python = environment / "bin" / "python";
    std::error_code ignored;
    if (!environment.empty() && fs::exists(python, ignored)) return python.string();
  }
  return "python3";
}

/// The last line that tells of an error, else the last one.
std::string complaint_in(const fs::path& log) {
  std::ifstream file(log);
  std::string found, line;
  bool is_error = false;
  while (std::getline(file, line)) {
    const bool tells = line.starts_with("ERROR") || line.find("Error:") != line.npos;
    if (base::trim(line).empty() || (is_error && !tells)) continue;
    found = line;
    is_error = tells;
  }
  return found.empty() ? "it said nothing" : std::string(base::trim(found));
}

/// False if it was stopped.
bool run_python(std::vector<std::string> arguments, const fs::path& log, const MakeRequest& request, const char* what) {
  arguments.insert(arguments.begin(), python_program());
  const std::optional<int> code = run_program(arguments, log, request.stop);
  if (code && *code != 0) base::fail("language/enwik8", "cannot ", what, ": ", complaint_in(log));
  return code.has_value();
}

void check_enwik8(const fs::path& file) {
  const base::MappedFile mapped(file, "enwik8");
  const uint32_t sum = base::crc32c(mapped.text());
  if (mapped.text().size() == kEnwik8Bytes && sum == kEnwik8Sum) return;
  base::fail("language/enwik8", "expected ", kEnwik8Bytes, " bytes with the CRC-32C ", kEnwik8Sum, ", got ",
             mapped.text().size(), " with ", sum);
}

}  // namespace

bool fetch_enwik8(const MakeRequest& request) {
  constexpr int64_t kSteps = 3;  // fetch, unpack, check
  const auto tell = [&](int64_t done) {
    if (request.progress) request.progress(done, kSteps);
  };
  tell(0);
  const NoEmptyFolder clean{request.folder};
  const base::TemporaryFolder work(request.folder);
  const fs::path log = work.path() / "log", unpacked = work.path() / "enwik8",
                 requirement = work.path() / "requirement.txt";
  std::ofstream(requirement) << kRequirement;
  const bool is_fetched = run_python(
      {"-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--no-deps", "--no-binary",
       "mingru-pytorch", "--require-hashes", "--dest", work.path().string(), "--requirement", requirement.string()},
      log, request, "fetch the archive with pip");
  if (!is_fetched) return false;
  tell(1);
  if (!run_python({"-c", kUnpack, (work.path() / kArchive).string(), unpacked.string()}, log, request, "unpack it")) {
    return false;
  }
  tell(2);
  check_enwik8(unpacked);
  fs::rename(unpacked, request.folder / "enwik8");
  tell(kSteps);
  return true;
}

}  // namespace primal::tasks

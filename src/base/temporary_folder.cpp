#include "base/temporary_folder.h"

#include <stdlib.h>

#include <string>
#include <system_error>

#include "base/write_failure.h"

namespace primal::base {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const fs::path& above) {
  fs::create_directories(above);
  std::string name = (above / ".primal-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail_writing(above, "make a folder in it");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace primal::base

#include <fcntl.h>
#include <primal/error.h>
#include <primal/safetensors.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "data/safetensors_header.h"

namespace primal {
namespace {

namespace fs = std::filesystem;
using data::in_quotes;
using data::SafetensorsDtype;
using data::SafetensorsEntry;

/// In the order of SafetensorsDtype.
constexpr std::array<at::ScalarType, data::kSafetensorsDtypes.size()> kScalarTypes = {
    at::kBool,     at::kByte, at::kChar,   at::kFloat8_e5m2, at::kFloat8_e4m3fn, at::kShort,  at::kUInt16, at::kHalf,
    at::kBFloat16, at::kInt,  at::kUInt32, at::kFloat,       at::kComplexFloat,  at::kDouble, at::kLong,   at::kUInt64};

template <typename... Parts>
[[noreturn]] void fail(const fs::path& path, const Parts&... parts) {
  data::fail(path.string(), parts...);
}

/// For a system call that has just failed.
[[noreturn]] void fail_errno(const fs::path& path, std::string_view action) {
  fail(path, "cannot ", action, ": ", std::generic_category().message(errno));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  bool close() { return !is_open() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// A whole file in memory. Private and writable: a write to it stays in this process instead of ending it.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) {
    // A pipe must not block here; for regular files O_NONBLOCK means nothing.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0) fail_errno(path, "open");
    if (S_ISDIR(status.st_mode)) fail(path, "is a directory, expected a safetensors file");
    if (!S_ISREG(status.st_mode)) fail(path, "is not a regular file");
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;  // which cannot be mapped
    // Without MAP_NORESERVE a file larger than the free memory could not be mapped, though few pages may ever change.
    void* start = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
    if (start == MAP_FAILED) fail_errno(path, "map");
    start_ = static_cast<std::byte*>(start);
  }
  ~MappedFile() {
    if (start_ != nullptr) ::munmap(start_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return {start_, size_}; }

 private:
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
};

/// A file that appears under its name complete or not at all: it is written beside the target and then renamed.
class AtomicFile {
 public:
  explicit AtomicFile(const fs::path& path) : path_(path) {
    std::error_code ignored;  // what cannot be looked at cannot be written either, and says so below
    const fs::file_status status = fs::status(path, ignored);
    if (fs::is_directory(status)) fail(path, "is a directory, expected a file to write");
    if (fs::is_other(status)) fail(path, "is not a regular file");  // the rename would replace a device or a pipe
    const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
    directory_ = FileDescriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory_.is_open()) fail_errno(path, "open its directory");
    for (int attempt = 0; !file_.is_open(); ++attempt) {
      // Short, so that it fits wherever the target's name does. Another thread or a dead process may hold the name.
      temporary_ = std::string(".primal-") + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
      constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
      file_ = FileDescriptor(::openat(directory_.get(), temporary_.c_str(), kFlags, 0666));
      if (!file_.is_open() && errno != EEXIST) fail_errno(path, "create a temporary file beside it");
    }
  }
  ~AtomicFile() {
    if (!committed_) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t size) {
    const char* next = static_cast<const char*>(bytes);
    while (size > 0) {
      const ssize_t written = ::write(file_.get(), next, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_errno(path_, "write");
      next += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  void commit() {
    if (::fsync(file_.get()) != 0 || !file_.close()) fail_errno(path_, "write");
    if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), path_.filename().c_str()) != 0) {
      fail_errno(path_, "rename the temporary file");
    }
    committed_ = true;
    // EINVAL: a file system whose directories need no sync.
    if (::fsync(directory_.get()) != 0 && errno != EINVAL) fail_errno(path_, "sync its directory");
  }

 private:
  fs::path path_;
  std::string temporary_;
  FileDescriptor directory_, file_;
  bool committed_ = false;
};

torch::Tensor view_of(const SafetensorsEntry& entry, std::span<std::byte> bytes, std::shared_ptr<MappedFile> file) {
  const auto options = at::TensorOptions(kScalarTypes[static_cast<std::size_t>(entry.dtype)]);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (!bytes.empty() && address % static_cast<std::uintptr_t>(data::info(entry.dtype).size) == 0) {
    return at::from_blob(
        bytes.data(), entry.shape, [file = std::move(file)](void*) {}, options);
  }
  torch::Tensor copy = at::empty(entry.shape, options);
  if (!bytes.empty()) std::memcpy(copy.data_ptr(), bytes.data(), bytes.size());
  return copy;
}

/// The entry of one tensor, without its place in the file.
SafetensorsEntry describe(const fs::path& path, const std::string& name, const torch::Tensor& tensor) {
  const auto refuse = [&](const auto&... why) { fail(path, "tensor ", in_quotes(name), ": ", why...); };
  if (name == data::kSafetensorsMetadataKey) refuse("the name is reserved for the metadata");
  if (!data::is_utf8(name)) refuse("the name is not UTF-8");
  if (!tensor.defined()) refuse("is undefined");
  if (!tensor.device().is_cpu()) refuse("is on ", tensor.device(), ", expected cpu");
  if (tensor.is_nested() || tensor.layout() != at::kStrided) refuse("is sparse or nested, expected a dense tensor");
  const auto type = std::ranges::find(kScalarTypes, tensor.scalar_type());
  if (type == kScalarTypes.end()) refuse("the format has no dtype for ", tensor.scalar_type());
  if (tensor.dim() > static_cast<std::int64_t>(data::kMaxSafetensorsRank)) {
    refuse("has ", tensor.dim(), " dimensions, expected at most ", data::kMaxSafetensorsRank);
  }
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = static_cast<SafetensorsDtype>(type - kScalarTypes.begin());
  entry.shape = tensor.sizes().vec();
  return entry;
}

/// The header of a file with these tensors, each at its place.
data::SafetensorsHeader arrange(const fs::path& path, const std::map<std::string, torch::Tensor>& tensors,
                                const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (!data::is_utf8(key) || !data::is_utf8(value)) fail(path, "metadata ", in_quotes(key), ": is not UTF-8");
  }
  data::SafetensorsHeader header;
  header.metadata = metadata;
  for (const auto& [name, tensor] : tensors) header.entries.push_back(describe(path, name, tensor));
  // Largest elements first keeps everything aligned; the map gave the order of the names.
  std::ranges::stable_sort(header.entries, std::greater(), &SafetensorsEntry::dtype);
  std::uint64_t place = 0;
  for (SafetensorsEntry& entry : header.entries) {
    entry.begin = place;
    entry.end = place += tensors.at(entry.name).nbytes();
  }
  return header;
}

}  // namespace

SafetensorsFile load_safetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(path);
  data::SafetensorsHeader header = data::parse_safetensors_header(file->bytes(), path.string());
  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  for (const SafetensorsEntry& entry : header.entries) {
    const std::span<std::byte> bytes = file->bytes().subspan(header.data_start + entry.begin, entry.end - entry.begin);
    // A C++ bool that is neither 0 nor 1 is undefined behaviour in every operator that reads it.
    if (entry.dtype == SafetensorsDtype::BOOL) {
      const auto wrong = std::ranges::find_if(bytes, [](std::byte value) { return value > std::byte{1}; });
      if (wrong != bytes.end()) {
        fail(path, "tensor ", in_quotes(entry.name), ": BOOL value ", std::to_integer<int>(*wrong), " at element ",
             wrong - bytes.begin(), " is neither 0 nor 1");
      }
    }
    result.tensors.emplace(entry.name, view_of(entry, bytes, file));
  }
  return result;
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, torch::Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const data::SafetensorsHeader header = arrange(path, tensors, metadata);
  const std::string head = data::format_safetensors_header(header);
  if (head.size() > sizeof(std::uint64_t) + data::kMaxSafetensorsHeader) {
    fail(path, "header of ", head.size(), " bytes is above the limit of ", data::kMaxSafetensorsHeader);
  }
  AtomicFile file(path);
  file.write(head.data(), head.size());
  for (const SafetensorsEntry& entry : header.entries) {
    // One copy at a time, if any. A conjugate or negative view says so in a bit that the memory does not show.
    const torch::Tensor tensor = tensors.at(entry.name).detach().resolve_conj().resolve_neg().contiguous();
    file.write(tensor.const_data_ptr(), tensor.nbytes());
  }
  file.commit();
}

}  // namespace primal

#include <gtest/gtest.h>
#include <primal/error.h>
#include <primal/safetensors.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::load_safetensors;
using primal::save_safetensors;
using torch::Tensor;

constexpr std::array kDtypes = {at::kBool,   at::kByte,          at::kChar,        at::kShort,
                                at::kUInt16, at::kInt,           at::kUInt32,      at::kLong,
                                at::kUInt64, at::kHalf,          at::kBFloat16,    at::kFloat,
                                at::kDouble, at::kFloat8_e4m3fn, at::kFloat8_e5m2, at::kComplexFloat};

/// A folder of its own for every test.
class Safetensors : public testing::Test {
 protected:
  Safetensors() {
    std::string name = (fs::temp_directory_path() / "safetensors_test_XXXXXX").string();
    folder = ::mkdtemp(name.data());
    path = folder / "model.safetensors";
  }
  ~Safetensors() override { fs::remove_all(folder); }

  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  fs::path folder, path;
};

template <typename Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const primal::Error& error) {
    return error.what();
  }
  return "no error";
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  fs::remove(path);  // some file systems go to the disk when a file is overwritten in place
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

/// A file with this header, right or wrong, and this many bytes of data: 1, 1, 1, ...
std::string file_of(const std::string& json, std::size_t data_size) {
  return length_bytes(json.size()) + json + std::string(data_size, '\1');
}

/// Values whose bits are all of a dtype's patterns, NaNs included; shape [2, 64, 2].
Tensor any_bits(at::ScalarType dtype) {
  if (dtype == at::kBool) return torch::arange(256).remainder(2).to(at::kBool).view({2, 64, 2});
  const auto size = static_cast<std::int64_t>(at::elementSize(dtype));
  const Tensor bytes = torch::arange(256 * size).mul(37).bitwise_and(255).to(at::kByte);
  return bytes.view(dtype).view({2, 64, 2});
}

std::string bits(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()};
}

void expect_same(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(bits(actual), bits(expected));
}

TEST_F(Safetensors, EveryDtypeComesBackBitForBitAndAligned) {
  std::map<std::string, Tensor> tensors;
  for (at::ScalarType dtype : kDtypes) {
    const std::string name = at::toString(dtype);
    tensors[name] = any_bits(dtype);
    tensors[name + ".odd"] = any_bits(dtype).flatten().slice(0, 0, 3);  // 3 elements: shifts what follows
    tensors[name + ".scalar"] = any_bits(dtype).select(0, 1).select(0, 3).select(0, 1);
    tensors[name + ".empty"] = torch::empty({3, 0, 2}, dtype);
  }
  save_safetensors(path, tensors);
  const auto loaded = load_safetensors(path).tensors;
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, expected] : tensors) {
    SCOPED_TRACE(name);
    expect_same(loaded.at(name), expected);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.at(name).const_data_ptr()) % expected.element_size(), 0U);
  }
}

TEST_F(Safetensors, ViewsAreWrittenAsTheyRead) {
  const Tensor x = torch::arange(24, torch::kFloat).view({4, 6});
  const Tensor z = torch::complex(x, x + 1);
  const std::map<std::string, Tensor> tensors = {{"transposed", x.t()},
                                                 {"every second", x.slice(1, 1, 6, 2)},
                                                 {"expanded", x[0].expand({3, 6})},
                                                 {"conjugate", torch::conj(z)},
                                                 {"negative", torch::imag(torch::conj(z))}};
  save_safetensors(path, tensors);
  const auto loaded = load_safetensors(path).tensors;
  for (const auto& [name, expected] : tensors) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(loaded.at(name).is_contiguous());
    EXPECT_TRUE(torch::equal(loaded.at(name), expected.clone()));
  }
  EXPECT_EQ(loaded.at("conjugate")[0][1].item<c10::complex<float>>().imag(), -2);
}

TEST_F(Safetensors, ParametersThatRequireGradAreWritten) {
  const Tensor weight = torch::ones({2, 3}, torch::requires_grad());
  save_safetensors(path, {{"w", weight}});
  expect_same(load_safetensors(path).tensors.at("w"), weight.detach());
}

TEST_F(Safetensors, MetadataAndNamesKeepEveryCharacter) {
  const std::string odd = "quote \" back\\slash \n tab\t zero\0 \xc3\xa9 \xf0\x9f\x98\x80"s;
  save_safetensors(path, {{odd, torch::ones({2})}, {"", torch::zeros({1})}}, {{odd, odd}, {"", ""}});
  const auto file = load_safetensors(path);
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{odd, odd}, {"", ""}}));
  expect_same(file.tensors.at(odd), torch::ones({2}));
  expect_same(file.tensors.at(""), torch::zeros({1}));
}

TEST_F(Safetensors, AFileMayHaveNoTensors) {
  save_safetensors(path, {});
  EXPECT_TRUE(load_safetensors(path).tensors.empty());
  EXPECT_TRUE(load_safetensors(path).metadata.empty());
}

TEST_F(Safetensors, TensorsAreViewsOfOneMapping) {
  save_safetensors(path, {{"a", torch::ones({4})}, {"b", torch::ones({4})}});
  const auto tensors = load_safetensors(path).tensors;
  EXPECT_EQ(tensors.at("b").const_data_ptr<float>() - tensors.at("a").const_data_ptr<float>(), 4);
}

TEST_F(Safetensors, WritingToALoadedTensorDoesNotChangeTheFile) {
  save_safetensors(path, {{"w", torch::ones({1000})}});
  const std::string before = read(path);
  load_safetensors(path).tensors.at("w").fill_(5);
  EXPECT_EQ(read(path), before);
  expect_same(load_safetensors(path).tensors.at("w"), torch::ones({1000}));
}

TEST_F(Safetensors, LoadedTensorsSurviveTheReplacementAndRemovalOfTheFile) {
  save_safetensors(path, {{"w", torch::ones({1000})}});
  const Tensor old = load_safetensors(path).tensors.at("w");
  save_safetensors(path, {{"w", torch::zeros({2})}});
  fs::remove(path);
  expect_same(old, torch::ones({1000}));
}

TEST_F(Safetensors, LoadedTensorsCanBeWrittenBackToTheFileTheyView) {
  save_safetensors(path, {{"w", any_bits(at::kFloat)}});
  const std::string before = read(path);
  save_safetensors(path, load_safetensors(path).tensors);
  EXPECT_EQ(read(path), before);
}

TEST_F(Safetensors, MisalignedDataAreCopied) {
  const Tensor expected = torch::full({3}, 1.5, torch::kDouble);
  for (std::size_t padding = 0; padding < 8; ++padding) {
    const auto json = R"({"w":{"dtype":"F64","shape":[3],"data_offsets":[0,24]}})"s.append(padding, ' ');
    write(path, length_bytes(json.size()) + json + bits(expected));
    const Tensor loaded = load_safetensors(path).tensors.at("w");
    expect_same(loaded, expected);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.const_data_ptr()) % 8, 0U);
  }
}

TEST_F(Safetensors, EveryTruncationIsAnError) {
  save_safetensors(path, {{"a", torch::ones({3})}, {"b", torch::ones({2}, torch::kByte)}}, {{"format", "pt"}});
  const std::string whole = read(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    EXPECT_TRUE(error_of([&] { load_safetensors(path); }).starts_with(path.string() + ": ")) << size << " bytes";
  }
}

TEST_F(Safetensors, NoChangedHeaderByteIsMoreThanAnError) {
  save_safetensors(path, {{"a", torch::ones({3})}, {"b", torch::ones({2}, torch::kByte)}}, {{"format", "pt"}});
  const std::string whole = read(path);
  for (std::size_t i = 0; i < whole.size() - 14; ++i) {
    for (const char value : "\0 0-9\"[]{}:,\\e\x80\xff"s) {
      std::string changed = whole;
      changed[i] = value;
      write(path, changed);
      const std::string error = error_of([&] { load_safetensors(path); });
      EXPECT_TRUE(error == "no error" || error.starts_with(path.string() + ": ")) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
}

struct Broken {
  std::string bytes, expected;
  friend void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.expected; }
};

std::string repeated(const std::string& text, int times) {
  std::string result;
  while (times-- > 0) result += text;
  return result;
}

std::string tensor(const std::string& fields) { return R"({"w":{)" + fields + "}}"; }

/// One F32 tensor "w" with these fields besides its dtype.
Broken f32(const std::string& shape, const std::string& offsets, std::size_t data_size, const std::string& expected) {
  return {file_of(tensor(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets), data_size),
          R"(tensor "w": )" + expected};
}

/// Two byte tensors "a" and "b".
Broken pair(const std::string& a, const std::string& b, std::size_t data_size, const std::string& expected) {
  const std::string start = R"({"dtype":"U8","shape":[4],"data_offsets":)";
  return {file_of(R"({"a":)" + start + a + R"(},"b":)" + start + b + "}}", data_size), expected};
}

std::vector<Broken> broken_files() {
  return {
      {"", "file of 0 bytes is too short"},
      {"1234567", "file of 7 bytes is too short"},
      {length_bytes(100'000'001) + "{}", "header length 100000001 is above the limit of 100000000 bytes"},
      {length_bytes(~0ULL) + "{}", "header length 18446744073709551615 is above the limit"},
      {length_bytes(3) + "{}", "header length 3 is beyond the file of 10 bytes"},
      {file_of("", 0), "header does not start with '{' but with \"\""},
      {file_of(" {}", 0), "header does not start with '{' but with \" \""},
      {file_of("[]", 0), "header does not start with '{' but with \"[\""},
      {file_of("{\"\xff\":1}", 0),
       "header is not valid JSON at byte 10: while parsing object key - invalid string: ill-formed UTF-8 byte"},
      {file_of("{\"a\xc3", 0), "header is not valid JSON at byte 12"},
      {file_of("{", 0), "header is not valid JSON at byte 9: while parsing object key - unexpected end of input"},
      {file_of("{}{}", 0), "header is not valid JSON at byte 10"},
      {file_of("{}\0hidden"s, 0), "header is not valid JSON at byte 10: zero byte"},
      {file_of(R"({"w":1e999})", 0), "header is not valid JSON at byte 17: number out of range"},
      pair("[0,4]", R"([4,8]},"a":{"dtype":"U8")", 8, "duplicate key \"a\""),
      pair("[0,4]", R"([4,8]},"\u0061":{"dtype":"U8")", 8, "duplicate key \"a\""),
      {file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "duplicate key \"__metadata__\""},
      {file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "duplicate key in __metadata__ \"k\""},
      {file_of(R"({"__metadata__":{"k":1}})", 0), "__metadata__ \"k\": expected a string, got 1"},
      {file_of(R"({"__metadata__":{"k":{}}})", 0), "__metadata__ \"k\": expected a string, got an object"},
      {file_of(R"({"__metadata__":null})", 0), "__metadata__: expected an object, got null"},
      {file_of(R"({"w":[]})", 0), "tensor \"w\": expected an object, got an array"},
      {file_of(tensor(R"("dtype":7)"), 0), "tensor \"w\": dtype: expected a string, got 7"},
      {file_of(tensor(R"("dtype":["F32"])"), 0), "tensor \"w\": dtype: expected a string, got an array"},
      {file_of(tensor(R"("dtype":"F7")"), 0), "tensor \"w\": unknown dtype \"F7\""},
      {file_of(tensor(R"("dtype":"f32")"), 0), "tensor \"w\": unknown dtype \"f32\""},
      {file_of(tensor(R"("dtype":"F32","dtype":"F32")"), 0), "tensor \"w\": duplicate field \"dtype\""},
      {file_of(tensor(R"("stride":[1])"), 0), "tensor \"w\": unknown field \"stride\""},
      {file_of(tensor(R"("shape":[],"data_offsets":[0,4])"), 4), "tensor \"w\": missing field \"dtype\""},
      {file_of(tensor(R"("dtype":"F32","data_offsets":[0,4])"), 4), "tensor \"w\": missing field \"shape\""},
      {file_of(tensor(R"("dtype":"F32","shape":[])"), 4), "tensor \"w\": missing field \"data_offsets\""},
      f32("4", "[0,16]", 16, "shape: expected an array, got 4"),
      f32("\"4\"", "[0,16]", 16, "shape: expected an array, got the string \"4\""),
      f32("{}", "[0,16]", 16, "shape: expected an array, got an object"),
      f32("[-1]", "[0,4]", 4, "shape: expected whole numbers from 0 to 9223372036854775807, got -1"),
      f32("[9223372036854775808]", "[0,4]", 4,
          "shape: expected whole numbers from 0 to 9223372036854775807, got 9223372036854775808"),
      f32("[1.0]", "[0,4]", 4, "shape: expected whole numbers from 0 to 9223372036854775807, got the number \"1.0\""),
      f32("[true]", "[0,4]", 4, "shape: expected whole numbers from 0 to 9223372036854775807, got true"),
      f32("[[1]]", "[0,4]", 4, "shape: expected whole numbers from 0 to 9223372036854775807, got an array"),
      f32(repeated("[", 100'000), "", 0, "shape: expected whole numbers"),
      f32("["s.append(repeated("1,", 64)).append("1]"), "[0,4]", 4, "shape: more than 64 dimensions"),
      f32("[4611686018427387904,4]", "[0,0]", 0, "the size of shape [4611686018427387904, 4] of F32 overflows 64 bits"),
      f32("[0,4611686018427387904,4]", "[0,0]", 0, "the size of shape [0, 4611686018427387904, 4] of F32 overflows"),
      f32("[2,2]", "[0,12]", 12, "data [0, 12) but shape [2, 2] of F32 needs 16 bytes"),
      f32("[0]", "[0,4]", 4, "data [0, 4) but shape [0] of F32 needs 0 bytes"),
      f32("[1]", "[4,0]", 4, "data [4, 0) end before they begin"),
      f32("[1]", "[0]", 4, "data_offsets: expected 2 values, got 1"),
      f32("[1]", "[0,4,8]", 4, "data_offsets: expected 2 values, got more"),
      f32("[1]", "[-4,0]", 4, "data_offsets: expected whole numbers from 0 to 18446744073709551615, got -4"),
      f32("[1]", "[18446744073709551612,18446744073709551616]", 4,
          "data_offsets: expected whole numbers from 0 to 18446744073709551615, got the number "
          "\"18446744073709551616\""),
      f32("[1]", "[18446744073709551611,18446744073709551615]", 4,
          "data [18446744073709551611, 18446744073709551615) end beyond the 4 data bytes of the file"),
      f32("[1]", "[0,4]", 3, "data [0, 4) end beyond the 3 data bytes of the file"),
      f32("[1]", "[4,8]", 8, "data [4, 8) leave a hole after byte 0 of the data"),
      pair("[0,4]", "[5,9]", 9, "tensor \"b\": data [5, 9) leave a hole after byte 4 of the data"),
      pair("[3,7]", "[0,4]", 7, "tensor \"a\": data [3, 7) overlap [0, 4) of tensor \"b\""),
      pair("[0,4]", "[0,4]", 4, "tensor \"b\": data [0, 4) overlap [0, 4) of tensor \"a\""),
      pair("[0,4]", "[4,8]", 10, "2 trailing bytes after the 8 of the tensors"),
      {file_of("{}", 1), "1 trailing bytes after the 0 of the tensors"},
      {file_of(R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 1) + "\7",
       "tensor \"m\": BOOL value 7 at element 1 is neither 0 nor 1"},
      {file_of("{\""s.append(1000, 'n').append("\":1}"), 0),
       "tensor \""s.append(80, 'n').append("...\": expected an object")},
  };
}

class BrokenSafetensors : public Safetensors, public testing::WithParamInterface<Broken> {};

TEST_P(BrokenSafetensors, IsRefusedWithAMessageThatNamesFileTensorAndValue) {
  write(path, GetParam().bytes);
  const std::string error = error_of([&] { load_safetensors(path); });
  EXPECT_TRUE(error.starts_with(path.string() + ": " + GetParam().expected)) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenSafetensors, testing::ValuesIn(broken_files()));

TEST_F(Safetensors, WhatIsNotAReadableFileIsAnError) {
  EXPECT_EQ(error_of([&] { load_safetensors(path); }), path.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { load_safetensors(folder); }),
            folder.string() + ": is a directory, expected a safetensors file");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { load_safetensors(path); }), path.string() + ": is not a regular file");
  fs::remove(path);
  fs::create_symlink(path, path);
  EXPECT_EQ(error_of([&] { load_safetensors(path); }),
            path.string() + ": cannot open: Too many levels of symbolic links");
}

TEST_F(Safetensors, AFileWithoutReadPermissionIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  save_safetensors(path, {});
  fs::permissions(path, fs::perms::none);
  EXPECT_EQ(error_of([&] { load_safetensors(path); }), path.string() + ": cannot open: Permission denied");
}

TEST_F(Safetensors, ARefusedTensorLeavesTheExistingFileAlone) {
  save_safetensors(path, {{"w", torch::ones({2})}});
  const std::string before = read(path);
  const auto expect_refused = [&](const std::string& name, const Tensor& tensor, const std::string& expected) {
    const std::string error = error_of([&] { save_safetensors(path, {{"a", torch::ones({2})}, {name, tensor}}); });
    EXPECT_EQ(error, path.string() + ": tensor " + expected);
    EXPECT_EQ(read(path), before);
    EXPECT_EQ(files_in_folder(), 1U);
  };
  const Tensor x = torch::ones({2, 2});
  expect_refused("w", Tensor(), "\"w\": is undefined");
  expect_refused("w", torch::ones({2}, torch::kMeta), "\"w\": is on meta, expected cpu");
  expect_refused("w", x.to_sparse(), "\"w\": is sparse or nested, expected a dense tensor");
  expect_refused("w", x.to(at::kComplexDouble), "\"w\": the format has no dtype for ComplexDouble");
  expect_refused("w", at::quantize_per_tensor(x, 0.1, 0, at::kQInt8), "\"w\": the format has no dtype for QInt8");
  expect_refused("w", torch::ones(std::vector<std::int64_t>(65, 1)), "\"w\": has 65 dimensions, expected at most 64");
  expect_refused("__metadata__", x, "\"__metadata__\": the name is reserved for the metadata");
  expect_refused("w\xff", x, "\"w\xef\xbf\xbd\": the name is not UTF-8");
}

TEST_F(Safetensors, MetadataThatAreNotUtf8AreRefused) {
  EXPECT_EQ(error_of([&] {
              save_safetensors(path, {}, {{"k", "\xff"}});
            }),
            path.string() + ": metadata \"k\": is not UTF-8");
  EXPECT_EQ(files_in_folder(), 0U);
}

/// While it lives, no file of this process can grow beyond `bytes`: a full disk, as far as a writer can tell.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(Safetensors, AFailedWriteLeavesTheExistingFileAndNoTemporary) {
  save_safetensors(path, {{"w", torch::ones({2})}});
  const std::string before = read(path);
  for (const rlim_t limit : {0, 100, 100'000}) {  // in the length, after the header, in the data
    const FullDisk full(limit);
    EXPECT_EQ(error_of([&] {
                save_safetensors(path, {{"w", torch::zeros({100'000})}});
              }),
              path.string() + ": cannot write: File too large");
  }
  EXPECT_EQ(read(path), before);
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(Safetensors, ATargetThatCannotBeAFileIsAnError) {
  const auto error_at = [](const fs::path& target) {
    return error_of([&] { save_safetensors(target, {{"w", torch::ones({2})}}); });
  };
  EXPECT_EQ(error_at(folder), folder.string() + ": is a directory, expected a file to write");
  EXPECT_EQ(error_at(folder / "none" / "a"),
            (folder / "none" / "a").string() + ": cannot open its directory: No such file or directory");
  EXPECT_EQ(error_at("/dev/null"), "/dev/null: is not a regular file");
  const fs::path long_name = folder / std::string(300, 'x');
  EXPECT_EQ(error_at(long_name), long_name.string() + ": cannot rename the temporary file: File name too long");
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(Safetensors, ANewFileHasThePermissionsOfTheUmaskAndAnyNameThatFits) {
  const fs::path long_name = folder / std::string(255, 'x');
  const mode_t before = ::umask(027);
  save_safetensors(long_name, {{"w", torch::ones({2})}});
  ::umask(before);
  EXPECT_EQ(fs::status(long_name).permissions(), fs::perms(0640));
  EXPECT_EQ(files_in_folder(), 1U);
}

}  // namespace

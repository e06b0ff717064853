#include <gtest/gtest.h>
#include <primal/safetensors.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "data/safetensors_files.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::load_safetensors;
using primal::save_safetensors;
using namespace primal::tests;
using torch::Tensor;

constexpr std::array kDtypes = {at::kBool,   at::kByte,          at::kChar,        at::kShort,
                                at::kUInt16, at::kInt,           at::kUInt32,      at::kLong,
                                at::kUInt64, at::kHalf,          at::kBFloat16,    at::kFloat,
                                at::kDouble, at::kFloat8_e4m3fn, at::kFloat8_e5m2, at::kComplexFloat};

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
    write_anew(path, length_bytes(json.size()) + json + bits(expected));
    const Tensor loaded = load_safetensors(path).tensors.at("w");
    expect_same(loaded, expected);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.const_data_ptr()) % 8, 0U);
  }
}

TEST_F(Safetensors, EveryTruncationIsAnError) {
  save_safetensors(path, {{"a", torch::ones({3})}, {"b", torch::ones({2}, torch::kByte)}}, {{"format", "pt"}});
  const std::string whole = read(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_anew(path, whole.substr(0, size));
    EXPECT_TRUE(error_if_any([&] { load_safetensors(path); }).starts_with(path.string() + ": ")) << size << " bytes";
  }
}

TEST_F(Safetensors, NoChangedHeaderByteIsMoreThanAnError) {
  save_safetensors(path, {{"a", torch::ones({3})}, {"b", torch::ones({2}, torch::kByte)}}, {{"format", "pt"}});
  const std::string whole = read(path);
  for (std::size_t i = 0; i < whole.size() - 14; ++i) {
    for (const char value : "\0 0-9\"[]{}:,\\e\x80\xff"s) {
      std::string changed = whole;
      changed[i] = value;
      write_anew(path, changed);
      const std::string error = error_if_any([&] { load_safetensors(path); });
      EXPECT_TRUE(error == "no error" || error.starts_with(path.string() + ": ")) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
}

TEST_F(Safetensors, WhatIsNotAReadableFileIsAnError) {
  EXPECT_EQ(error_if_any([&] { load_safetensors(path); }), path.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_if_any([&] { load_safetensors(folder); }),
            folder.string() + ": is a directory, expected a safetensors file");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_if_any([&] { load_safetensors(path); }), path.string() + ": is not a regular file");
  fs::remove(path);
  fs::create_symlink(path, path);
  EXPECT_EQ(error_if_any([&] { load_safetensors(path); }),
            path.string() + ": cannot open: Too many levels of symbolic links");
}

TEST_F(Safetensors, AFileWithoutReadPermissionIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  save_safetensors(path, {});
  fs::permissions(path, fs::perms::none);
  EXPECT_EQ(error_if_any([&] { load_safetensors(path); }), path.string() + ": cannot open: Permission denied");
}

TEST_F(Safetensors, ARefusedTensorLeavesTheExistingFileAlone) {
  save_safetensors(path, {{"w", torch::ones({2})}});
  const std::string before = read(path);
  const auto expect_refused = [&](const std::string& name, const Tensor& tensor, const std::string& expected) {
    const std::string error = error_if_any([&] { save_safetensors(path, {{"a", torch::ones({2})}, {name, tensor}}); });
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
  EXPECT_EQ(error_if_any([&] {
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
    EXPECT_EQ(error_if_any([&] {
                save_safetensors(path, {{"w", torch::zeros({100'000})}});
              }),
              path.string() + ": cannot write: File too large");
  }
  EXPECT_EQ(read(path), before);
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(Safetensors, ATargetThatCannotBeAFileIsAnError) {
  const auto error_at = [](const fs::path& target) {
    return error_if_any([&] { save_safetensors(target, {{"w", torch::ones({2})}}); });
  };
  EXPECT_EQ(error_at(folder), folder.string() + ": is a directory, expected a file to write");
  EXPECT_EQ(error_at(folder / "none" / "a"),
            (folder / "none" / "a").string() + ": cannot open its directory: No such file or directory");
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

#include <gtest/gtest.h>
#include <primal/safetensors.h>

#include <ostream>
#include <string>
#include <vector>

#include "data/safetensors_files.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using namespace primal::tests;
using primal::load_safetensors;

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
  write_anew(path, GetParam().bytes);
  const std::string error = error_if_any([&] { load_safetensors(path); });
  EXPECT_TRUE(error.starts_with(path.string() + ": " + GetParam().expected)) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenSafetensors, testing::ValuesIn(broken_files()));

}  // namespace

// Event files, read back by a decoder that shares no code with the writer. tests/python/test_event_file.py gives the
// same files to TensorBoard.
#include "run/event_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/errors.h"

namespace primal::run {
namespace {

namespace fs = std::filesystem;

constexpr double kStart = 1'700'000'000.5;

/// An empty folder, gone after the test.
class EventFileTest : public testing::Test {
 protected:
  EventFileTest() { fs::create_directories(directory_); }
  ~EventFileTest() override { fs::remove_all(directory_); }

  // Tests may run side by side, each in a process of its own.
  fs::path directory_ = fs::path(testing::TempDir()) / ("primal_events_" + std::to_string(::getpid()));
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t little_endian(const std::string& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// By the definition, a bit at a time.
std::uint32_t slow_masked_crc(const std::string& bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0x82F63B78 : sum >> 1;
  }
  return std::rotr(~sum, 15) + 0xA282EAD8;
}

/// The data of the TFRecords in a file; checks both checksums of each.
std::vector<std::string> records(const std::string& file) {
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at < file.size()) {
    const std::size_t length = little_endian(file.substr(at, 8));
    EXPECT_EQ(little_endian(file.substr(at + 8, 4)), slow_masked_crc(file.substr(at, 8)));
    result.push_back(file.substr(at + 12, length));
    EXPECT_EQ(little_endian(file.substr(at + 12 + length, 4)), slow_masked_crc(result.back()));
    at += length + 16;
  }
  EXPECT_EQ(at, file.size());
  return result;
}

/// Field number -> its value: little-endian bytes of numbers, contents of the rest.
using Fields = std::map<std::uint64_t, std::string>;

Fields decode(const std::string& message) {
  Fields fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  };
  const auto take = [&](std::size_t count) {
    at += count;
    return message.substr(at - count, count);
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::string& field = fields[key >> 3];
    switch (key & 7) {
      case 0:
        for (std::uint64_t rest = varint(), i = 0; i < 8; ++i, rest >>= 8) field.push_back(static_cast<char>(rest));
        break;
      case 1:
        field = take(8);
        break;
      case 2:
        field = take(varint());
        break;
      default:
        EXPECT_EQ(key & 7, 5U);
        field = take(4);
    }
  }
  return fields;
}

double wall_time(const Fields& event) { return std::bit_cast<double>(little_endian(event.at(1))); }
std::int64_t step(const Fields& event) { return static_cast<std::int64_t>(little_endian(event.at(2))); }
/// Of an event with a summary of one value.
Fields value_of(const Fields& event) { return decode(decode(event.at(5)).at(1)); }
float simple_value(const Fields& value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(value.at(2))));
}

std::vector<Fields> events_of(const fs::path& path) {
  std::vector<Fields> events;
  for (const std::string& record : records(read(path))) events.push_back(decode(record));
  return events;
}

TEST_F(EventFileTest, IsNamedAfterSecondAndHost) {
  const EventFile file(directory_, {.start_time = kStart});
  EXPECT_EQ(file.path().parent_path(), directory_);
  const std::string name = file.path().filename().string();
  EXPECT_TRUE(name.starts_with("events.out.tfevents.1700000000.")) << name;
  EXPECT_FALSE(name.ends_with('.'));
}

TEST_F(EventFileTest, StartsWithItsVersion) {
  const EventFile file(directory_, {.start_time = kStart});
  const std::vector<Fields> events = events_of(file.path());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(wall_time(events[0]), kStart);
  EXPECT_EQ(step(events[0]), 0);
  EXPECT_EQ(events[0].at(3), "brain.Event:2");
}

TEST_F(EventFileTest, HoldsScalars) {
  EventFile file(directory_);
  file.scalar("train/loss", 0.25, 7, kStart);
  file.scalar("Genauigkeit in Zürich", 1.0 / 3, std::int64_t{1} << 40, kStart + 1);
  file.flush();
  const std::vector<Fields> events = events_of(file.path());
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(wall_time(events[1]), kStart);
  EXPECT_EQ(step(events[1]), 7);
  EXPECT_EQ(value_of(events[1]), (Fields{{1, "train/loss"}, {2, std::string("\0\0\x80\x3E", 4)}}));
  EXPECT_EQ(step(events[2]), std::int64_t{1} << 40);
  EXPECT_EQ(value_of(events[2]).at(1), "Genauigkeit in Zürich");
  EXPECT_EQ(simple_value(value_of(events[2])), 1.0F / 3);
}

TEST_F(EventFileTest, HoldsWhatIsNoNumber) {
  EventFile file(directory_);
  file.scalar("loss", std::numeric_limits<double>::quiet_NaN(), 1);
  file.scalar("loss", -std::numeric_limits<double>::infinity(), -1);
  file.flush();
  const std::vector<Fields> events = events_of(file.path());
  EXPECT_TRUE(std::isnan(simple_value(value_of(events[1]))));
  EXPECT_EQ(simple_value(value_of(events[2])), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(step(events[2]), -1);
}

TEST_F(EventFileTest, HoldsText) {
  const std::string long_text(1000, '#');  // its length takes two bytes
  EventFile file(directory_);
  file.text("config", long_text, 3);
  file.flush();
  const Fields value = value_of(events_of(file.path()).at(1));
  EXPECT_EQ(value.at(1), "config");
  const Fields tensor = decode(value.at(8));
  EXPECT_EQ(little_endian(tensor.at(1)), 7U);  // DT_STRING
  EXPECT_EQ(tensor.at(2), "");                 // no dimensions
  EXPECT_EQ(tensor.at(8), long_text);
  EXPECT_EQ(decode(decode(value.at(9)).at(1)).at(1), "text");  // the plugin
}

TEST_F(EventFileTest, PurgesTheStepsThatAResumedRunRepeats) {
  const EventFile file(directory_, {.purge_step = 41});
  const std::vector<Fields> events = events_of(file.path());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].at(3), "brain.Event:2");  // first: only from this version on does TensorBoard look at the second
  EXPECT_EQ(step(events[1]), 41);
  EXPECT_EQ(little_endian(decode(events[1].at(7)).at(1)), 1U);  // SessionLog.START
}

TEST_F(EventFileTest, ResumedRunGetsANewFileThatSortsLast) {
  const EventFile first(directory_, {.start_time = kStart});
  const EventFile same_second(directory_, {.start_time = kStart});
  const EventFile clock_set_back(directory_, {.start_time = kStart - 1000});
  std::ofstream(directory_ / "events.out.tfevents.1800000000.zzz") << "";
  std::ofstream(directory_ / "metrics.jsonl") << "";
  const EventFile after_another_host(directory_, {.start_time = kStart});
  EXPECT_LT(first.path(), same_second.path());
  EXPECT_LT(same_second.path(), clock_set_back.path());
  EXPECT_TRUE(after_another_host.path().filename().string().starts_with("events.out.tfevents.1800000001."));
}

TEST_F(EventFileTest, NamesTheFileThatCannotBeCreated) {
  const fs::path missing = directory_ / "missing";
  const std::string error = tests::error_of([&] { const EventFile file(missing); });
  EXPECT_TRUE(tests::contains(error, (missing / "events.out.tfevents.").string()));
  EXPECT_TRUE(tests::contains(error, "cannot create: No such file or directory"));
}

/// A run that wrote steps 1 to 5, crashed in the middle of a record and was resumed from its checkpoint of step 3.
void write_crashed_and_resumed_run(const fs::path& directory) {
  EventFile before(directory, {.start_time = kStart});
  before.text("config", "rank = 30", 0, kStart);
  for (int i = 1; i <= 5; ++i) before.scalar("train/loss", 1.0 / i, i, kStart + i);
  before.flush();
  fs::resize_file(before.path(), fs::file_size(before.path()) - 3);

  EventFile after(directory, {.purge_step = 4, .start_time = kStart});
  for (int i = 4; i <= 6; ++i) after.scalar("train/loss", 10.0 * i, i, kStart + 100 + i);
}

// For tests/python/test_event_file.py, which names a folder and shows it to TensorBoard.
TEST_F(EventFileTest, RunForTensorBoard) {
  const char* chosen = std::getenv("PRIMAL_EVENTS_DIRECTORY");
  const fs::path directory = chosen == nullptr ? directory_ : fs::path(chosen);
  write_crashed_and_resumed_run(directory);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 2);
}

}  // namespace
}  // namespace primal::run

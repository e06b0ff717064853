// Any bytes as a batch of CIFAR-10.
#include <vector>

#include "data/images/cifar10.h"
#include "token_set_fuzz.h"

namespace {

using namespace primal;

void check_batch(std::span<const std::byte> bytes) {
  const auto set = fuzz::read_tokens([&] {
    data::TokenSet read{.classes = std::vector<std::string>(10, "class")};
    data::add_cifar10_batch(read, fuzz::kTokenFileName, bytes);
    return read;
  });
  fuzz::require_of_tokens(!set || bytes.size() == static_cast<std::size_t>(set->examples()) * data::kCifarRecord,
                          "every record is an example");
  if (set) fuzz::check_tokens(*set, 1, data::kCifarPixels, bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_batch(bytes);
  // Most sizes are wrong, which hides the labels; so the bytes are also tried with zeros up to whole records.
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  whole.resize((size + primal::data::kCifarRecord - 1) / primal::data::kCifarRecord * primal::data::kCifarRecord);
  check_batch(whole);
  return 0;
}

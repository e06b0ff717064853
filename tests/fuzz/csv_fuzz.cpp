// Any bytes as a CSV file.
#include "series_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  primal::fuzz::check_reader(primal::data::make_csv_reader, data, size);
  return 0;
}

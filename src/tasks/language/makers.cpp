#include "tasks/language/makers.h"

#include <array>
#include <charconv>

#include "base/atomic_file.h"
#include "base/text.h"
#include "data/text/language_sets.h"
#include "data/text/subword_training.h"
#include "tasks/language/fetch_enwik8.h"

namespace primal::tasks {

namespace {

constexpr const char* kTrainText = "train";
constexpr const char* kSubwordSize = "size";

bool make_subwords(const MakeRequest& request) {
  data::SubwordTraining training;
  if (request.has(kSubwordSize)) {
    const std::string& given = request.options.at(kSubwordSize);
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), training.size);
    if (error != std::errc() || end != given.data() + given.size()) {
      base::fail("--size", "expected a whole number, got ", base::in_quotes(given));
    }
  }
  std::vector<data::TextPiece> text;
  if (request.has(kTrainText)) {
    // As a training cuts it: what it holds out is not learnt from.
    text = data::own_text(request.options.at(kTrainText), "", "").train;
  } else {
    text = data::language_parts("wikitext-2", request.search).train;
  }
  const std::string model = data::train_subwords(text, training);
  if (request.stop && request.stop()) return false;
  std::filesystem::create_directories(request.folder);
  base::write_file_atomically(request.folder / "subwords.model", model);
  return true;
}

}  // namespace

std::span<const DataMaker> language_makers() {
  static const std::array<DataMaker, 2> makers = {
      DataMaker{.name = "language/subwords",
                .help = "subwords.model, for data.subwords: learnt from TRAIN of WikiText-2 or a file, seconds",
                .flags = {{.name = kTrainText, .help = "text to learn from; default WikiText-2", .value = "FILE"},
                          {.name = kSubwordSize, .help = "ids; default 8000", .value = "N"}},
                .make = make_subwords},
      DataMaker{.name = "language/enwik8",
                .help = "the first 100 MB of a dump of Wikipedia: pip fetches an archive of 37 MB that has it",
                .make = fetch_enwik8}};
  return makers;
}

}  // namespace primal::tasks

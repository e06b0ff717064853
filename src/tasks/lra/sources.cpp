#include "tasks/lra/sources.h"

#include <array>
#include <numeric>

#include "base/mapped_file.h"
#include "base/text.h"
#include "data/images/cifar10.h"
#include "data/text/document_pairs.h"
#include "data/text/labelled_text.h"
#include "data/tokens/listops_reader.h"
#include "tasks/lra/makers.h"
#include "train/order.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

using data::TokenSet;

std::vector<int64_t> some_of(const std::vector<int64_t>& order, int64_t from, int64_t to) {
  return {order.begin() + from, order.begin() + to};
}

TokenSet read_listops_file(const fs::path& file, int64_t tokens) { return data::cut(data::read_listops(file), tokens); }

TokenParts read_listops_parts(const fs::path& place, int64_t tokens) {
  return {read_listops_file(place / "basic_train.tsv", tokens), read_listops_file(place / "basic_val.tsv", tokens),
          read_listops_file(place / "basic_test.tsv", tokens)};
}

TokenParts read_text_parts(const fs::path& place, int64_t tokens) {
  const bool is_tsv = fs::exists(place / "imdb_train.tsv");
  return {data::read_labelled_text(place / (is_tsv ? "imdb_train.tsv" : "train"), tokens), {},
          data::read_labelled_text(place / (is_tsv ? "imdb_test.tsv" : "test"), tokens)};
}

TokenParts read_pairs(const fs::path& place, const std::string& name, int64_t tokens) {
  const auto part = [&](const char* which) {
    return data::read_document_pairs(place / (name + which + ".tsv"), tokens);
  };
  return {part(".train"), part(".eval"), part(".test")};
}

TokenParts read_aan_parts(const fs::path& place, int64_t tokens) { return read_pairs(place, "new_aan_pairs", tokens); }
TokenParts read_wikitext_parts(const fs::path& place, int64_t tokens) {
  return read_pairs(place, "article_pairs", tokens);
}

// The last tenth of TRAIN validates, as published, in the order of the files: they are shuffled.
TokenParts read_image_parts(const fs::path& place, int64_t tokens) {
  const TokenSet train = data::cut(data::read_cifar10(place, data::CifarPart::train), tokens);
  std::vector<int64_t> order(static_cast<size_t>(train.examples()));
  std::iota(order.begin(), order.end(), 0);
  const int64_t first = train.examples() * 9 / 10;
  return {data::subset(train, some_of(order, 0, first)), data::subset(train, some_of(order, first, train.examples())),
          data::cut(data::read_cifar10(place, data::CifarPart::test), tokens)};
}

TokenSet cifar10_file(const fs::path& file) {
  const base::MappedFile mapped(file, "a batch of CIFAR-10");
  TokenSet set;
  data::add_cifar10_batch(set, file.string(), mapped.bytes());
  return set;
}

TokenSet read_image_file(const fs::path& file, int64_t tokens) {
  return data::cut(cifar10_file(file), tokens);
}

const std::vector<LraSource>& all_sources() {
  static const std::vector<LraSource> all = {
      {.name = "listops",
       .help = "the value of a nested expression of digits, 500 to 2000 tokens",
       .tokens = 2000,
       .symbols = 15,
       .places = {{"lra/listops", "basic_train.tsv"},
                  {"listops", "basic_train.tsv"},
                  {"lra/listops-1000", "basic_train.tsv"},
                  {"listops-1000", "basic_train.tsv"},
                  {"lra_release/listops-1000", "basic_train.tsv"}},
       .advice = "primal data make lra/listops makes it",
       .read = read_listops_parts,
       .read_file = read_listops_file,
       .maker = &listops_maker()},
      {.name = "text",
       .help = "whether a film review is good or bad, by its bytes (IMDB)",
       .tokens = 4000,
       .has_validation = false,
       .places = {{"lra/imdb", "imdb_train.tsv"},
                  {"imdb", "imdb_train.tsv"},
                  {"lra/aclImdb", "train/pos"},
                  {"aclImdb", "train/pos"}},
       .advice = "unpack the archive of the Large Movie Review Dataset into data/aclImdb",
       .read = read_text_parts,
       .read_file = data::read_labelled_text},
      {.name = "retrieval",
       .help = "whether two papers cite each other, by their bytes (AAN)",
       .tokens = 4000,
       .places = {{"lra/aan", "new_aan_pairs.train.tsv"},
                  {"aan", "new_aan_pairs.train.tsv"},
                  {"lra_release/lra_release/tsv_data", "new_aan_pairs.train.tsv"}},
       .advice = "put new_aan_pairs.{train,eval,test}.tsv of the Long Range Arena's release into data/aan, or train "
                 "lra/retrieval-wikitext, a stand-in of the same form",
       .read = read_aan_parts,
       .read_file = data::read_document_pairs},
      {.name = "retrieval-wikitext",
       .help = "whether two passages are of the same article, by their bytes: a stand-in of ours, made from WikiText-2",
       .tokens = 4000,
       .places = {{"lra/retrieval-wikitext", "article_pairs.train.tsv"},
                  {"retrieval-wikitext", "article_pairs.train.tsv"}},
       .advice = "primal data make lra/retrieval-wikitext makes it from WikiText-2",
       .read = read_wikitext_parts,
       .read_file = data::read_document_pairs,
       .maker = &wikitext_pairs_maker()},
      {.name = "image",
       .help = "what a grey picture of 32 x 32 pixels shows (CIFAR-10)",
       .tokens = 1024,
       .is_image = true,
       .places = {{"images/cifar-10", "data_batch_1.bin"},
                  {"cifar-10", "data_batch_1.bin"},
                  {"cifar-10-batches-bin", "data_batch_1.bin"},
                  {"lra/cifar-10", "data_batch_1.bin"}},
       .advice = "unpack the binary version of CIFAR-10 into data/cifar-10",
       .read = read_image_parts,
       .read_file = read_image_file},
  };
  return all;
}

}  // namespace

std::span<const LraSource> lra_sources() { return all_sources(); }

const LraSource& lra_source(const std::string& name) {
  std::vector<std::string> names;
  for (const LraSource& source : all_sources()) {
    if (source.name == name) return source;
    names.push_back(source.name);
  }
  base::fail("data.task", "expected one of ", base::joined(names, ", "), ", got ", base::in_quotes(name));
}

std::optional<fs::path> find_lra(const LraSource& source, const data::SearchPath& search) {
  std::error_code ignored;
  for (const fs::path& directory : search.directories) {
    for (const DataPlace& place : source.places) {
      if (fs::exists(directory / place.folder / place.probe, ignored)) return directory / place.folder;
    }
  }
  return std::nullopt;
}

fs::path locate_lra(const LraSource& source, const data::SearchPath& search) {
  if (const auto found = find_lra(source, search)) return *found;
  std::vector<std::string> where, wanted;
  for (const fs::path& directory : search.directories) {
    where.push_back(directory.string() + (fs::is_directory(directory) ? "" : " (not there)"));
  }
  for (const DataPlace& place : source.places) wanted.push_back("DIR/" + place.folder + "/" + place.probe);
  base::fail("data of lra/" + source.name, "expected ", base::joined(wanted, " or "),
             ", got none for DIR = ", where.empty() ? "(no directory)" : base::joined(where, ", "), "; ", source.advice,
             ", or set PRIMAL_DATA to the directory that has it");
}

}  // namespace primal::tasks

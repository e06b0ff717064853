#include "tasks/lra/sources.h"

#include <array>

#include "base/text.h"
#include "data/images/pathfinder_file.h"
#include "tasks/lra/makers.h"
#include "tasks/lra/readers.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

const std::vector<LraSource>& all_sources() {
  static const std::string packed = data::pathfinder_file_name({});
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
       .read_file = read_text_file},
      {.name = "retrieval",
       .help = "whether two papers cite each other, by their bytes (AAN)",
       .tokens = 4000,
       .places = {{"lra/aan", "new_aan_pairs.train.tsv"},
                  {"aan", "new_aan_pairs.train.tsv"},
                  {"lra_release/lra_release/tsv_data", "new_aan_pairs.train.tsv"}},
       .advice = "put new_aan_pairs.{train,eval,test}.tsv of the Long Range Arena's release into data/aan, or train "
                 "lra/retrieval-wikitext, a stand-in of the same form",
       .read = read_aan_parts,
       .read_file = read_pairs_file},
      {.name = "retrieval-wikitext",
       .help = "whether two passages are of the same article, by their bytes: a stand-in of ours, made from WikiText-2",
       .tokens = 4000,
       .places = {{"lra/retrieval-wikitext", "article_pairs.train.tsv"},
                  {"retrieval-wikitext", "article_pairs.train.tsv"}},
       .advice = "primal data make lra/retrieval-wikitext makes it from WikiText-2",
       .read = read_wikitext_parts,
       .read_file = read_pairs_file,
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
      {.name = "pathfinder",
       .help = "whether two markers in a picture of 32 x 32 pixels are on the same dashed line",
       .tokens = 1024,
       .is_image = true,
       .places = {{"lra/pathfinder", packed},
                  {"pathfinder", packed},
                  {"lra/pathfinder", "metadata"},
                  {"lra/pathfinder32/curv_contour_length_14", "metadata"},
                  {"pathfinder32/curv_contour_length_14", "metadata"},
                  {"lra_release/lra_release/pathfinder32/curv_contour_length_14", "metadata"}},
       .advice = "primal data make lra/pathfinder makes it",
       .read = read_pathfinder_parts,
       .read_file = read_pathfinder_file,
       .maker = &pathfinder_maker()},
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

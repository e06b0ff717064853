#include "tasks/lra/makers.h"

#include "base/text.h"
#include "data/images/pathfinder_file.h"
#include "data/images/pathfinder_folder.h"
#include "data/text/article_pairs.h"
#include "data/tokens/listops_maker.h"
#include "primal/error.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

bool make_listops_files(const MakeRequest& request) {
  return data::make_listops({.folder = request.folder,
                             .seed = request.seed,
                             .threads = request.threads,
                             .progress = request.progress,
                             .stop = request.stop});
}

fs::path locate_wikitext(const data::SearchPath& search) {
  std::vector<std::string> where;
  for (const fs::path& directory : search.directories) {
    for (const char* place : {"language/wikitext-2", "wikitext-2"}) {
      if (fs::exists(directory / place / "wiki.train.tokens")) return directory / place;
    }
    where.push_back(directory.string());
  }
  throw Error(
      "lra/retrieval-wikitext: expected wiki.{train,valid,test}.tokens of WikiText-2 in DIR/wikitext-2 or "
      "DIR/language/wikitext-2, got none for DIR = " +
      base::joined(where, ", "));
}

bool make_wikitext_pairs(const MakeRequest& request) {
  return data::make_article_pairs({.wikitext = locate_wikitext(request.search),
                                   .folder = request.folder,
                                   .seed = request.seed,
                                   .progress = request.progress,
                                   .stop = request.stop});
}

constexpr const char* kBorderRule = "border-rule";
constexpr const char* kImages = "images";

bool make_pathfinder_pictures(const MakeRequest& request) {
  data::PathfinderOrder order{.seed = static_cast<uint64_t>(request.seed),
                              .threads = request.threads,
                              .progress = request.progress,
                              .stop = request.stop};
  const auto rule = request.options.find(kBorderRule);
  if (rule != request.options.end()) {
    order.options.border_rule = base::named(data::kBorderRules, "--border-rule", rule->second);
  }
  if (request.has(kImages)) return data::make_pathfinder_folder(request.folder, order);
  fs::create_directories(request.folder);
  return data::make_pathfinder_file(request.folder / data::pathfinder_file_name(order.options), order);
}

}  // namespace

const DataMaker& pathfinder_maker() {
  static const DataMaker maker{
      .name = "lra/pathfinder",
      .help = "200,000 pictures as the Long Range Arena's generator draws them: 200 MB, some minutes",
      .flags = {{.name = kBorderRule, .help = "where lines may begin", .values = {"strict", "relaxed"}},
                {.name = kImages,
                 .help = "200,000 PNG files and metadata in the released layout, not one packed file"}},
      .make = make_pathfinder_pictures};
  return maker;
}

const DataMaker& listops_maker() {
  static const DataMaker maker{.name = "lra/listops",
                               .help = "100,000 expressions as the Long Range Arena draws them: 660 MB, under a minute",
                               .make = make_listops_files};
  return maker;
}

const DataMaker& wikitext_pairs_maker() {
  static const DataMaker maker{
      .name = "lra/retrieval-wikitext",
      .help = "24,000 pairs of passages of WikiText-2, of the same article or not: 200 MB, seconds",
      .make = make_wikitext_pairs};
  return maker;
}

}  // namespace primal::tasks

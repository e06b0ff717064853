// A stand-in for the retrieval task of the Long Range Arena, whose texts (AAN) few people can get: do two passages come
// from the same article of WikiText? Results on it are not comparable with those on AAN.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace primal::data {

struct ArticlePairsRequest {
  std::filesystem::path wikitext;                   ///< folder with wiki.{train,valid,test}.tokens
  std::filesystem::path folder;                     ///< made if it is not there
  int64_t train = 20000, eval = 2000, test = 2000;  ///< pairs, even; half of them are from one article
  int64_t most_bytes = 4000;                        ///< of a passage
  int64_t seed = 1;
  std::function<void(int64_t done, int64_t of)> progress = nullptr;  ///< told between two pieces of work
  std::function<bool()> stop = nullptr;                              ///< asked as often
};

/// Writes article_pairs.{train,eval,test}.tsv, which read_document_pairs() reads: the same bytes for the same seed and
/// texts on every machine; 200 MB with the defaults. An id is the number of the article in its file, from 0, and where
/// the passage begins in it: "17_4012". Each part has only articles of the WikiText file of that name.
///
/// The two passages of a pair never overlap. Nothing but what the texts say tells the label: both kinds of pairs take
/// their passages from the same articles, about as often, at places drawn alike, and of the same size. So an article
/// too short for two passages is in no pair.
///
/// False if it was stopped: then no file was written. Throws primal::Error.
bool make_article_pairs(const ArticlePairsRequest& request);

}  // namespace primal::data

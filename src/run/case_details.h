// Evaluations looked at case by case: what a score is compared with, which groups of cases are right, and some cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/evaluation.h"

namespace primal::run {

/// A score that needs no model: that of guessing, for instance.
struct ReferenceLine {
  std::string name;
  double score = 0;
};

/// Cases that have something in common.
struct GroupRow {
  std::string name;
  int64_t cases = 0, right = 0;
};

/// Cases by one property: their length, for instance.
struct CaseGroup {
  std::string name;
  std::vector<GroupRow> rows;
};

/// What a model says of a case.
struct CaseAnswer {
  std::string truth, predicted;  ///< names of classes
  double share = 0;              ///< that the model gives the class it predicts, 0 to 1
};

struct PictureCase {
  CaseAnswer answer;
  bool right = false;
  int64_t width = 0, height = 0;
  std::vector<uint8_t> grey;  ///< row by row; 0: black
};

struct TextCase {
  CaseAnswer answer;
  std::vector<std::string> texts;  ///< their beginnings, in UTF-8
};

/// Details of an evaluation, under the names of the members.
struct CaseDetails {
  std::vector<ReferenceLine> reference_lines{};
  std::vector<CaseGroup> groups{};
  std::vector<PictureCase> pictures{};  ///< wrong ones, those with the largest share first; then some right ones
  std::vector<TextCase> texts{};        ///< wrong ones, those with the largest share first
};
/// An empty list is left out.
void put(Evaluation& evaluation, const CaseDetails& details);
/// What is missing is empty. Throws Error, which `where` begins, for what is of another kind.
CaseDetails case_details(const Evaluation& evaluation, const std::string& where = "evaluation");

}  // namespace primal::run

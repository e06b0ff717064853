// A table of numbers from a file of any kind that we read.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace primal::tasks {

struct Table {
  std::string name;   ///< as it was given
  at::Tensor values;  ///< [rows, columns], at least one of each, finite; float64 of text, else as in the file
  std::vector<std::string> names;  ///< of the columns; empty if the file has none
};

/// `file`: CSV, "-" for the standard input, or FILE.safetensors with one tensor [rows, columns], of several
/// FILE.safetensors:NAME. Throws Error that names the file and, where a number is wrong, its place and the number.
Table read_table(const std::string& file);

}  // namespace primal::tasks

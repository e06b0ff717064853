// The report of one run, or the comparison of several.
//
//   std::vector<run::Run> runs = {run::load_run("runs/a"), run::load_run("runs/b")};
//   std::string html = report_page(runs);
#pragma once

#include <string>
#include <vector>

#include "run/run.h"

namespace primal::report {

/// One HTML file that needs nothing else, offline. runs: at least one
std::string report_page(const std::vector<run::Run>& runs);

}  // namespace primal::report

// The frame of a program that measures: options in, a line of JSON out.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>

namespace primal::bench {

/// Exit codes: 2 for what cannot be measured, told in one line, and 3 for what does not fit into memory.
int run_program(CLI::App& app, int argc, char** argv, const std::function<nlohmann::json()>& measure);

}  // namespace primal::bench

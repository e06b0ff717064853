#include "program.h"

#include <cstdio>

#include "base/exception.h"
#include "base/waiting_threads.h"
#include "kernels/cpu_target.h"

namespace primal::bench {

namespace {

constexpr int kWrongUsage = 2, kDoesNotFit = 3;

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<nlohmann::json()>& measure) {
  try {
    app.parse(argc, argv);
    base::limit_spinning(argv);
    kernels::use_cpu_target_of_environment();
    std::puts(measure().dump().c_str());
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), base::in_one_line(error).c_str());
    return base::is_out_of_memory(error) ? kDoesNotFit : kWrongUsage;
  }
}

}  // namespace primal::bench

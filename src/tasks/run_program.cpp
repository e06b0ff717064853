#include "tasks/run_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "primal/error.h"
#include "tasks/spawn.h"

namespace primal::tasks {

namespace {

constexpr useconds_t kProgramPoll = 50'000;  // microseconds: Ctrl-C is seen as soon as that

}  // namespace

std::optional<int> run_program(const std::vector<std::string>& words, const std::filesystem::path& log,
                               const std::function<bool()>& stop) {
  const pid_t process = spawn(words.at(0), words, log);
  int status = 0;
  bool is_stopped = false;
  for (pid_t ended = 0; ended != process;) {
    ended = waitpid(process, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) throw Error("could not wait for " + words[0] + ": " + std::strerror(errno));
    if (ended == process) break;
    if (!is_stopped && stop && stop()) {
      kill(-process, SIGTERM);
      is_stopped = true;
    }
    usleep(kProgramPoll);
  }
  if (is_stopped) return std::nullopt;
  return exit_code_of(status);
}

}  // namespace primal::tasks

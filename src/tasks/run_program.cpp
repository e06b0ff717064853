#include "tasks/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "primal/error.h"

extern char** environ;

namespace primal::tasks {

namespace {

constexpr useconds_t kProgramPoll = 50'000;  // microseconds: Ctrl-C is seen as soon as that

pid_t start_program(const std::vector<std::string>& words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  // A group of its own, which is ended as a whole.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int failure = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error("could not start " + words[0] + ": " + std::strerror(failure));
  return process;
}

}  // namespace

std::optional<int> run_program(const std::vector<std::string>& words, const std::filesystem::path& log,
                               const std::function<bool()>& stop) {
  const pid_t process = start_program(words, log);
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
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace primal::tasks

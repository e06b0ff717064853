#include "tasks/child_processes.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "base/interrupt.h"
#include "primal/error.h"

extern char** environ;

namespace primal::tasks {

namespace {

constexpr int kPollMilliseconds = 50;

// The redirections of a child; freed with the object.
class FileActions {
 public:
  explicit FileActions(const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

pid_t start(const Child& child) {
  std::vector<char*> arguments = {const_cast<char*>("primal")};
  for (const std::string& argument : child.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const FileActions actions(child.log);
  // A group of its own: the terminal's Ctrl-C reaches this process alone, which passes it on. Twice would be "end now".
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int failure = posix_spawn(&process, "/proc/self/exe", actions.get(), &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) throw Error(std::string("could not start a run: ") + std::strerror(failure));
  return process;
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

bool run_children(const std::vector<Child>& children, int64_t jobs, const std::function<void(size_t, int)>& finished) {
  const base::InterruptGuard interrupt;
  std::map<pid_t, size_t> running;
  bool passed_on = false;
  for (size_t next = 0; next < children.size() || !running.empty();) {
    if (interrupt.interrupted() && !passed_on) {
      for (const auto& [process, index] : running) kill(process, interrupt.signal());
      next = children.size();
      passed_on = true;
      if (running.empty()) break;
    }
    while (next < children.size() && std::ssize(running) < jobs) running[start(children[next])] = next, ++next;
    int status = 0;
    // Polled, so that a Ctrl-C is seen while children run on.
    const pid_t process = waitpid(-1, &status, WNOHANG);
    if (process > 0 && running.contains(process)) {
      const size_t index = running.at(process);
      running.erase(process);
      if (!passed_on) finished(index, exit_code_of(status));
    } else {
      usleep(kPollMilliseconds * 1000);
    }
  }
  return interrupt.interrupted();
}

}  // namespace primal::tasks

#include "tasks/child_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "base/interrupt.h"
#include "tasks/spawn.h"

namespace primal::tasks {

namespace {

constexpr int kPollMilliseconds = 50;

pid_t start(const Child& child) {
  std::vector<std::string> words = {"primal"};
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  return spawn("/proc/self/exe", words, child.log);
}

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

#include "runtime/rpc/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/archive/files.h"
#include "runtime/rpc/server_session.h"

extern char** environ;

namespace tessera::rpc {
namespace {

/// Ends this process when the other side of its socket goes, whatever it is doing then. (A signal on the parent's death would come
/// when the thread ends that started this process.)
void end_with_client(int fd) {
  std::thread([fd] {
    pollfd watched{fd, POLLRDHUP, 0};
    while (poll(&watched, 1, -1) < 0 && errno == EINTR) {}
    _exit(0);
  }).detach();
}

/// Memory that is not there is an error of what asked for it; where the system has to end a process, it is this one.
void yield_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  rlimit limit{};
  if (pages > 0 && getrlimit(RLIMIT_DATA, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, static_cast<rlim_t>(pages) * static_cast<rlim_t>(bytes));
    setrlimit(RLIMIT_DATA, &limit);
  }
  if (Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score.get() >= 0)
    (void)!write(score.get(), "1000", 4);
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& words) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(RpcError) << "no socket for a worker: " << std::strerror(errno);
  Descriptor ours(ends[0]), theirs(ends[1]);
  std::string number = std::to_string(theirs.get() == 3 ? 4 : 3);
  std::vector<std::string> all = words;
  all.insert(all.end(), {number, number});
  std::vector<char*> args;
  for (const std::string& word : all) args.push_back(const_cast<char*>(word.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), std::stoi(number));  // the copy is inherited
  int problem = posix_spawnp(&pid_, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem) throw Error(file_error(problem)) << "cannot start " << words[0] << ": " << std::strerror(problem);
  session_ = ClientSession::start(Connection(std::move(ours), "the worker " + words[0]));
}

WorkerProcess::~WorkerProcess() {
  session_->close();
  end();
}

std::string WorkerProcess::end() {
  if (pid_ < 0) return "";
  // One that has crashed is ending already and says how; the others are made to.
  int status = 0;
  for (int i = 0; i < 50 && waitpid(pid_, &status, WNOHANG) == 0; ++i) {
    if (i == 20) kill(pid_, SIGKILL);
    if (i < 49) usleep(i < 20 ? 1000 : 5000);
    else waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

void serve_worker(int fd) {
  end_with_client(fd);
  yield_memory();
  Connection connection(Descriptor(fd), "the client");
  serve_session(connection);
}

}  // namespace tessera::rpc

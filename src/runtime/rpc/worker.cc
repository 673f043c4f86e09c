#include "runtime/rpc/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/archive/files.h"
#include "runtime/rpc/server_session.h"

extern char** environ;

namespace tessera::rpc {

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
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Connection connection(Descriptor(fd), "the client");
  serve_session(connection);
}

}  // namespace tessera::rpc

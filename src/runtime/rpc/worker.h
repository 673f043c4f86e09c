#pragma once
// A process of our own that serves one session through a socket that it inherits.

#include <sys/types.h>

#include "runtime/rpc/client_session.h"

namespace tessera::rpc {

class WorkerProcess {
 public:
  /// Starts a program; `words` are its command line, behind which the number of the socket stands twice (to read and to
  /// write, as v0.10 calls such programs).
  explicit WorkerProcess(const std::vector<std::string>& words);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;

  const std::shared_ptr<ClientSession>& session() const { return session_; }
  pid_t pid() const { return pid_; }
  /// Ends it, whatever it does; says how it ended ("signal 11 (Segmentation fault)").
  std::string end();

 private:
  pid_t pid_ = -1;
  std::shared_ptr<ClientSession> session_;
};

/// What such a program does: answers frames on the descriptor until it is closed.
void serve_worker(int fd);

}  // namespace tessera::rpc

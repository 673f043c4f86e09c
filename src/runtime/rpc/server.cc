#include "runtime/rpc/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>

#include "runtime/archive/files.h"
#include "runtime/rpc/handshake.h"
#include "runtime/rpc/server_files.h"
#include "runtime/rpc/server_session.h"
#include "runtime/rpc/tracker_link.h"

namespace tessera::rpc {
namespace {

constexpr size_t kMaxSessions = 64;
constexpr double kGreetingSeconds = 20;
constexpr char kUsedMatchKey = 'm';

struct SessionProcess {
  pid_t pid;
  Descriptor report;  // a byte where the match key was used; closed when the process ends
  std::unique_ptr<TemporaryFolder> folder;
  bool used_match_key = false;
};

class Server {
 public:
  explicit Server(const ServerOptions& options) : options_(options) {}
  void run(const std::function<void(int)>& on_ready);

 private:
  void listen_step();
  void proxy_step();
  bool wait(std::vector<pollfd>& waiting, int timeout_ms);
  void start_session(Connection connection);
  void serve(Connection& connection, int report, bool is_own_process);
  void reap();
  void say(const std::string& what) const {
    if (!options_.is_silent) std::fprintf(stderr, "rpc-server: %s\n", what.c_str());
  }

  const ServerOptions& options_;
  Listener listener_;
  std::optional<TrackerLink> tracker_;
  std::list<SessionProcess> sessions_;
  bool is_stopped_ = false;
};

void Server::run(const std::function<void(int)>& on_ready) {
  int port = options_.listen.port;
  if (!options_.through_proxy) {
    check_may_listen(options_.listen.host, "an RPC server");
    listener_ = Listener::open(options_.listen.host, options_.listen.port, options_.listen.port_end);
    port = listener_.port;
    if (!options_.tracker_host.empty()) tracker_.emplace(options_, port);
  }
  if (on_ready) on_ready(port);
  while (!is_stopped_) options_.through_proxy ? proxy_step() : listen_step();
  for (SessionProcess& session : sessions_) {
    kill(session.pid, SIGKILL);
    waitpid(session.pid, nullptr, 0);
  }
}

/// Waits for any of the descriptors, of sessions too, and looks after those; false when nothing else came.
bool Server::wait(std::vector<pollfd>& waiting, int timeout_ms) {
  size_t asked = waiting.size();
  waiting.push_back({options_.listen.watched, POLLIN, 0});
  for (const SessionProcess& session : sessions_) waiting.push_back({session.report.get(), POLLIN, 0});
  int found = poll(waiting.data(), waiting.size(), timeout_ms);
  if (found < 0 && errno != EINTR) throw Error(RpcError) << "the server cannot wait: " << std::strerror(errno);
  if (found <= 0) return false;
  if (options_.listen.watched >= 0 && waiting[asked].revents) is_stopped_ = true;
  reap();
  return !is_stopped_ && std::any_of(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(asked),
                                     [](const pollfd& each) { return each.revents != 0; });
}

void Server::listen_step() {
  bool is_busy = std::any_of(sessions_.begin(), sessions_.end(), [](auto& each) { return each.used_match_key; });
  if (tracker_) tracker_->tend(is_busy);
  std::vector<pollfd> waiting{{listener_.socket.get(), POLLIN, 0}};
  if (tracker_) waiting.push_back({tracker_->fd(), POLLIN, 0});
  if (!wait(waiting, 1000)) return;
  if (tracker_ && waiting[1].revents) tracker_->lost();
  if (!waiting[0].revents) return;
  std::optional<Connection> connection = listener_.accept();
  if (connection && sessions_.size() < kMaxSessions) start_session(std::move(*connection));
}

void Server::proxy_step() {
  try {
    Connection connection = Connection::open(options_.listen.host, options_.listen.port);
    connection.send_message(
        Hello{.magic = kRpcMagic, .is_server = true, .key = options_.key, .timeout = 0, .nonce = random_bytes(32)}
            .encode());
    std::vector<pollfd> waiting;
    do {
      waiting = {{connection.fd(), POLLIN, 0}};
    } while (!wait(waiting, 1000) && !is_stopped_);
    if (!is_stopped_) start_session(std::move(connection));
  } catch (const Error& error) {
    say("proxy: " + error.message());
    std::vector<pollfd> none;
    wait(none, 2000);
  }
}

void Server::start_session(Connection connection) {
  if (!options_.forks) return serve(connection, -1, false);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return say(std::string("no pipe: ") + std::strerror(errno));
  Descriptor read_end(ends[0]), write_end(ends[1]);
  auto folder = std::make_unique<TemporaryFolder>();
  pid_t pid = options_.fork ? options_.fork() : ::fork();
  if (pid < 0) return say(std::string("no process for a session: ") + std::strerror(errno));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_session_folder(folder->file("").erase(folder->file("").size() - 1));
    serve(connection, write_end.get(), true);
    std::fflush(nullptr);
    _exit(0);  // destructors are the parent's
  }
  sessions_.push_back({pid, std::move(read_end), std::move(folder)});
}

void Server::serve(Connection& connection, int report, bool is_own_process) {
  try {
    const std::string key = tracker_ ? tracker_->match_key() : options_.key;
    bool is_listed = tracker_.has_value();
    Hello hello = welcome(
        connection, kRpcMagic,
        [&](const Hello& each) { return !each.is_server && each.key == key && !(is_listed && key.empty()); },
        after(kGreetingSeconds));
    if (is_listed && report >= 0 && write(report, &kUsedMatchKey, 1) != 1) return;
    if (hello.timeout && is_own_process) alarm(hello.timeout);
    say("session with " + connection.peer() + " begins");
    serve_session(connection);
    say("session with " + connection.peer() + " ends");
  } catch (const Error& error) {
    say("session with " + connection.peer() + " ends: " + error.message());
  }
  if (tracker_ && !is_own_process) tracker_->used();
}

void Server::reap() {
  for (auto each = sessions_.begin(); each != sessions_.end();) {
    pollfd now{each->report.get(), POLLIN, 0};
    char said = 0;
    if (poll(&now, 1, 0) > 0 && read(each->report.get(), &said, 1) == 1) {
      each->used_match_key = said == kUsedMatchKey;
      ++each;
    } else if (now.revents) {
      waitpid(each->pid, nullptr, 0);
      if (each->used_match_key && tracker_) tracker_->used();
      each = sessions_.erase(each);
    } else {
      ++each;
    }
  }
}

}  // namespace

void run_server(const ServerOptions& options, const std::function<void(int)>& on_ready) {
  Server(options).run(on_ready);
}

}  // namespace tessera::rpc

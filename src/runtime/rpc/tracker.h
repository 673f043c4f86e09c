#pragma once
// A tracker lists servers by key and gives each to one client at a time. Messages are v0.10's: JSON lists that begin with a
// code, behind their length in four bytes; the handshake (handshake.h) comes before them.

#include <functional>

#include "base/any.h"
#include "runtime/rpc/connection.h"

namespace tessera::rpc {

enum class TrackerCode : int {
  Fail = -1,
  Success = 0,
  Ping = 1,
  Stop = 2,
  Put = 3,                 // key, [port, match key], address or null
  Request = 4,             // key, user, priority                     => [host, port, match key], when one is free
  UpdateInfo = 5,          // {"key": ..., "addr": ...}
  Summary = 6,             //                                         => what is free and who waits
  GetPendingMatchKeys = 7  //                                         => match keys that nobody took yet
};

struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 0, port_end = 0;
  int watched = -1;  // ends when this descriptor is closed by the other side, as a parent's does when it dies
};

/// Serves until the watched descriptor is closed. `on_ready` is called with the port when clients can connect.
void run_tracker(const ListenOptions& options, const std::function<void(int port)>& on_ready);

/// A client of a tracker.
class TrackerClient {
 public:
  TrackerClient(const std::string& host, int port);
  /// Sends a JSON text and waits for the answer's.
  std::string call(const std::string& message, Deadline deadline = std::nullopt);
  void send(const std::string& message) { connection_.send_message(message); }
  std::string receive(Deadline deadline);
  int fd() const { return connection_.fd(); }

 private:
  Connection connection_;
};

class ClientSession;
/// A session with a server that the tracker lists under `key`, as soon as one is free.
std::shared_ptr<ClientSession> request_session(const std::string& host, int port, const std::string& key, int priority);

/// Bytes that have come on a connection that is served together with others, taken message by message.
class MessageBuffer {
 public:
  /// Reads what is there; false when the other side is gone, or a message is too long.
  bool fill(int fd);
  std::optional<std::string> take();
  /// What is left, when messages are over.
  std::string rest() { return std::exchange(data_, {}); }

 private:
  std::string data_;
};

}  // namespace tessera::rpc

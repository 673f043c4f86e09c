#pragma once
// An RPC server: a loop of one thread that gives each client a process of its own, so that what a session does (a crash, a
// forged frame, too much memory, too long a time) ends that session only.

#include "runtime/rpc/tracker.h"

namespace tessera::rpc {

struct ServerOptions {
  ListenOptions listen;
  std::string key;           // which clients are served; with a tracker, under which it lists the server
  std::string tracker_host;  // "": no tracker
  int tracker_port = 0;
  std::string custom_addr;     // what the tracker tells clients, where it is not the address it sees
  bool through_proxy = false;  // listen.host and listen.port are those of a proxy
  bool is_silent = false;
  bool forks = true;          // false: sessions one after another in this process
  std::function<int()> fork;  // as fork(2), which it is when empty; a language may have one of its own
};

/// Serves until the watched descriptor is closed. `on_ready` is called with the port when clients can connect.
void run_server(const ServerOptions& options, const std::function<void(int port)>& on_ready);

/// Matches servers that wait (run_server with through_proxy) with clients of their key, and passes bytes on. Each may wait
/// for so many seconds.
struct ProxyOptions {
  ListenOptions listen;
  double client_timeout = 600, server_timeout = 600;
};
void run_proxy(const ProxyOptions& options, const std::function<void(int port)>& on_ready);

}  // namespace tessera::rpc

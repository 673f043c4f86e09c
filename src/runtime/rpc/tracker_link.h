#pragma once
// How a server stays listed in a tracker: under a key that works once, and anew when its session is over.

#include "runtime/rpc/server.h"

namespace tessera::rpc {

class TrackerLink {
 public:
  TrackerLink(const ServerOptions& options, int port) : options_(options), port_(port) {}

  /// Connects, lists the server, asks whether it was given away: whatever is due. Failures are tried again.
  void tend(bool is_busy);
  /// What a client must say now; empty while the server is not listed.
  const std::string& match_key() const { return match_key_; }
  /// A client has used the key, or its session has ended: the server is listed again when it is free.
  void used() { match_key_.clear(); }
  int fd() const { return client_ ? client_->fd() : -1; }
  /// The tracker said something unasked: it is gone.
  void lost() { client_.reset(), match_key_.clear(); }

 private:
  void connect();
  void put();
  void check();

  const ServerOptions& options_;
  int port_;
  std::optional<TrackerClient> client_;
  std::string match_key_;
  Clock::time_point next_try_{}, next_check_{}, taken_{};
  bool was_taken_ = false;
};

}  // namespace tessera::rpc

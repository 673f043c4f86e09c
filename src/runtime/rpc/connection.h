#pragma once
// Sockets: connecting and listening, and whole messages over them. A peer that closes, or a time that is over, is an error.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace tessera::rpc {

inline constexpr ErrorKind RpcError = "RPCError";
inline constexpr ErrorKind RpcTimeoutError = "RPCSessionTimeoutError";

using Clock = std::chrono::steady_clock;
/// When waiting ends; none: never.
using Deadline = std::optional<Clock::time_point>;
inline Deadline after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Messages of handshakes, trackers and proxies are at most this long.
inline constexpr size_t kMaxMessage = 64 << 10;
/// Frames of a session; larger contents travel in pieces.
inline constexpr size_t kMaxFrame = 256 << 20;

/// A file descriptor that is closed with this.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// One connected stream socket.
class Connection {
 public:
  /// `peer` names the other side in messages.
  Connection(Descriptor socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}
  static Connection open(const std::string& host, int port, Deadline deadline = after(30));

  int fd() const { return socket_.get(); }
  const std::string& peer() const { return peer_; }
  void close() { socket_.reset(); }
  int release() { return socket_.release(); }

  void send(std::string_view data);
  /// A message behind its length in four bytes.
  void send_message(std::string_view message);
  std::string receive_message(Deadline deadline, size_t max_bytes = kMaxMessage);
  /// A frame behind its length in eight bytes.
  void send_frame(std::string_view frame);
  std::string receive_frame(Deadline deadline);

 private:
  void receive(char* data, size_t bytes, Deadline deadline);
  std::string receive_body(uint64_t bytes, size_t max_bytes, Deadline deadline);

  Descriptor socket_;
  std::string peer_;
};

/// Where somebody listens: the first free port of [port, port_end), or any when `port` is 0.
struct Listener {
  Descriptor socket;
  int port = 0;

  static Listener open(const std::string& host, int port, int port_end);
  /// None when there was nobody after all.
  std::optional<Connection> accept() const;
};

/// True for names and addresses that only this machine reaches.
bool is_loopback(const std::string& host);

/// The secret that both sides know: $TESSERA_RPC_SECRET, or the contents of the file $TESSERA_RPC_SECRET_FILE without the
/// end of its line. Empty where there is none.
std::string shared_secret();
/// A ValueError when `who` would listen beyond this machine without a secret.
void check_may_listen(const std::string& host, const std::string& who);

/// Bytes of the system's generator of random numbers, and the same as text.
std::string random_bytes(size_t count);
std::string random_key(const std::string& prefix);

}  // namespace tessera::rpc

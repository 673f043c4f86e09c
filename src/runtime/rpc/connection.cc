#include "runtime/rpc/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/archive/files.h"

namespace tessera::rpc {
namespace {

constexpr size_t kPiece = 1 << 20;  // memory grows with what has come, not with what is announced

struct Addresses {
  addrinfo* first = nullptr;
  Addresses(const std::string& host, int port, bool is_passive) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (is_passive ? AI_PASSIVE : 0);
    int problem = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &first);
    if (problem) throw Error(RpcError) << "there is no host \"" << host << "\": " << gai_strerror(problem);
  }
  ~Addresses() { freeaddrinfo(first); }
  Addresses(const Addresses&) = delete;
};

std::string address_text(const std::string& host, int port) { return host + ":" + std::to_string(port); }

void send_at_once(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Waits until the descriptor has something; false when the time is over.
bool wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    int timeout = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
    }
    pollfd waiting{fd, events, 0};
    int found = poll(&waiting, 1, timeout);
    if (found > 0) return true;
    if (found == 0) return false;
    if (errno != EINTR) throw Error(RpcError) << "waiting for a socket failed: " << std::strerror(errno);
  }
}

bool connect_by(int fd, const addrinfo* address, Deadline deadline) {
  int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return false;
    if (!wait_for(fd, POLLOUT, deadline)) return errno = ETIMEDOUT, false;
    int problem = 0;
    socklen_t size = sizeof problem;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem) return errno = problem, false;
  }
  fcntl(fd, F_SETFL, flags);
  return true;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Connection Connection::open(const std::string& host, int port, Deadline deadline) {
  Addresses addresses(host, port, false);
  int problem = 0;
  for (const addrinfo* each = addresses.first; each; each = each->ai_next) {
    Descriptor fd(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    if (fd && connect_by(fd.get(), each, deadline)) {
      send_at_once(fd.get());
      return {std::move(fd), address_text(host, port)};
    }
    problem = errno;
  }
  throw Error(RpcError) << "cannot connect to " << address_text(host, port) << ": " << std::strerror(problem)
                        << "; is a server running there?";
}

void Connection::send(std::string_view data) {
  while (!data.empty()) {
    ssize_t sent = ::send(fd(), data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw Error(RpcError) << "the connection to " << peer_ << " is lost: " << std::strerror(errno);
    data.remove_prefix(static_cast<size_t>(sent));
  }
}

void Connection::receive(char* data, size_t bytes, Deadline deadline) {
  while (bytes > 0) {
    if (deadline && !wait_for(fd(), POLLIN, deadline))
      throw Error(RpcTimeoutError) << peer_ << " did not answer in time";
    ssize_t got = recv(fd(), data, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(RpcError) << "the connection to " << peer_ << " is lost: " << std::strerror(errno);
    if (got == 0) throw Error(RpcError) << peer_ << " closed the connection";
    data += got;
    bytes -= static_cast<size_t>(got);
  }
}

std::string Connection::receive_body(uint64_t bytes, size_t max_bytes, Deadline deadline) {
  if (bytes > max_bytes)
    throw Error(RpcError) << peer_ << " announces a message of " << bytes << " bytes; at most " << max_bytes
                          << " are allowed";
  std::string out;
  while (out.size() < bytes) {
    size_t at = out.size();
    out.resize(std::min<size_t>(bytes, std::max(at * 2, at + kPiece)));
    receive(out.data() + at, out.size() - at, deadline);
  }
  return out;
}

void Connection::send_message(std::string_view message) {
  ICHECK(message.size() <= UINT32_MAX) << "messages are short";
  auto size = static_cast<uint32_t>(message.size());
  send(std::string(reinterpret_cast<const char*>(&size), sizeof size).append(message));
}

std::string Connection::receive_message(Deadline deadline, size_t max_bytes) {
  uint32_t size;
  receive(reinterpret_cast<char*>(&size), sizeof size, deadline);
  return receive_body(size, max_bytes, deadline);
}

void Connection::send_frame(std::string_view frame) {
  if (frame.size() > kMaxFrame)
    throw Error(RpcError) << "a frame of " << frame.size() << " bytes is too large for " << peer_ << "; at most "
                          << kMaxFrame << " are allowed";
  uint64_t size = frame.size();
  send({reinterpret_cast<const char*>(&size), sizeof size});
  send(frame);
}

std::string Connection::receive_frame(Deadline deadline) {
  uint64_t size;
  receive(reinterpret_cast<char*>(&size), sizeof size, deadline);
  return receive_body(size, kMaxFrame, deadline);
}

Listener Listener::open(const std::string& host, int port, int port_end) {
  if (port < 0 || port > 65535) throw Error(ValueError) << "a port is 0 to 65535, not " << port;
  int problem = 0;
  for (int each = port; each == port || each < std::min(port_end, 65536); ++each) {
    Addresses addresses(host, each, true);
    const addrinfo* at = addresses.first;
    Descriptor fd(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd && bind(fd.get(), at->ai_addr, at->ai_addrlen) == 0 && listen(fd.get(), 64) == 0) {
      sockaddr_storage bound{};
      socklen_t size = sizeof bound;
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
      uint16_t number = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                    : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
      return {std::move(fd), ntohs(number)};
    }
    problem = errno;
  }
  throw Error(RpcError) << "cannot listen on " << address_text(host, port)
                        << (port_end > port + 1 ? " to " + std::to_string(port_end - 1) : "") << ": "
                        << std::strerror(problem);
}

std::optional<Connection> Listener::accept() const {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  Descriptor fd(accept4(socket.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
  if (!fd) return std::nullopt;
  send_at_once(fd.get());
  char host[NI_MAXHOST] = "?", service[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<sockaddr*>(&from), size, host, sizeof host, service, sizeof service,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return Connection(std::move(fd), std::string(host) + ":" + service);
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::string shared_secret() {
  if (const char* secret = std::getenv("TESSERA_RPC_SECRET"); secret && *secret) return secret;
  const char* file = std::getenv("TESSERA_RPC_SECRET_FILE");
  if (!file || !*file) return "";
  std::string text(MappedFile(file, "the secret of RPC").bytes());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) throw Error(ValueError) << "the secret of RPC in " << file << " is empty";
  return text;
}

void check_may_listen(const std::string& host, const std::string& who) {
  if (is_loopback(host) || !shared_secret().empty()) return;
  throw Error(ValueError) << who << " on " << (host.empty() ? "all addresses" : host)
                          << " would let everybody who reaches this machine run programs on it. Set TESSERA_RPC_SECRET "
                             "to the same text on both sides, or listen on 127.0.0.1";
}

std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  for (size_t at = 0; at < count;) {
    ssize_t got = getrandom(out.data() + at, count - at, 0);
    if (got < 0 && errno != EINTR) throw Error(RpcError) << "no random numbers: " << std::strerror(errno);
    if (got > 0) at += static_cast<size_t>(got);
  }
  return out;
}

std::string random_key(const std::string& prefix) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = prefix;
  for (char each : random_bytes(16)) {
    out += kDigits[static_cast<uint8_t>(each) >> 4];
    out += kDigits[static_cast<uint8_t>(each) & 15];
  }
  return out;
}

}  // namespace tessera::rpc

// The proxy: servers behind a firewall connect to it and wait, clients of the same key are passed on to them.

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>

#include "runtime/rpc/handshake.h"
#include "runtime/rpc/server.h"

namespace tessera::rpc {
namespace {

constexpr size_t kMaxPeers = 1024, kMaxQueued = 1 << 20;

struct Peer {
  Connection connection;
  MessageBuffer buffer;
  std::optional<Hello> hello;
  Peer* other = nullptr;
  std::string queued;  // bytes that it has not taken yet
  bool is_gone = false;
  Clock::time_point since = Clock::now();
};

std::string with_length(const std::string& message) {
  auto size = static_cast<uint32_t>(message.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + message;
}

class Proxy {
 public:
  Proxy(Listener listener, const ProxyOptions& options) : listener_(std::move(listener)), options_(options) {}
  bool step();

 private:
  void read(Peer& peer);
  void greet(Peer& peer);
  static void pair(Peer& client, Peer& server);
  static void flush(Peer& peer);
  void remove_gone();

  Listener listener_;
  const ProxyOptions& options_;
  std::list<Peer> peers_;
};

bool Proxy::step() {
  std::vector<pollfd> waiting{{listener_.socket.get(), POLLIN, 0}, {options_.listen.watched, POLLIN, 0}};
  for (const Peer& peer : peers_) {
    bool reads = !peer.other || peer.other->queued.size() < kMaxQueued;
    waiting.push_back(
        {peer.connection.fd(), static_cast<short>((reads ? POLLIN : 0) | (peer.queued.empty() ? 0 : POLLOUT)), 0});
  }
  if (poll(waiting.data(), waiting.size(), 1000) < 0) return errno == EINTR;
  if (options_.listen.watched >= 0 && waiting[1].revents) return false;
  size_t i = 2;
  for (Peer& peer : peers_) {
    short events = waiting[i++].revents;
    if (events & POLLOUT) flush(peer);
    if (events & ~POLLOUT) read(peer);
    double limit = peer.hello && peer.hello->is_server ? options_.server_timeout : options_.client_timeout;
    peer.is_gone |= !peer.other && Clock::now() - peer.since > std::chrono::duration<double>(peer.hello ? limit : 20);
  }
  remove_gone();
  if (waiting[0].revents) {
    std::optional<Connection> connection = listener_.accept();
    if (connection && peers_.size() < kMaxPeers) peers_.push_back(Peer{.connection = std::move(*connection)});
  }
  return true;
}

void Proxy::read(Peer& peer) {
  if (!peer.other) {
    peer.is_gone |= !peer.buffer.fill(peer.connection.fd());
    try {
      if (!peer.is_gone && !peer.hello) greet(peer);
    } catch (const Error&) {  // no hello
      peer.is_gone = true;
    }
    return;
  }
  char piece[64 << 10];
  ssize_t got = recv(peer.connection.fd(), piece, sizeof piece, MSG_DONTWAIT);
  if (got > 0) {
    peer.other->queued.append(piece, static_cast<size_t>(got));
    flush(*peer.other);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    peer.is_gone = true;
  }
}

void Proxy::greet(Peer& peer) {
  std::optional<std::string> message = peer.buffer.take();
  if (!message) return;
  peer.hello = Hello::decode(*message, kRpcMagic);
  for (Peer& each : peers_) {
    if (each.other || each.is_gone || !each.hello || each.hello->is_server == peer.hello->is_server) continue;
    if (each.hello->key == peer.hello->key) return peer.hello->is_server ? pair(each, peer) : pair(peer, each);
  }
}

/// From now on they talk to each other; the server hears the client's hello first.
void Proxy::pair(Peer& client, Peer& server) {
  client.other = &server;
  server.other = &client;
  server.queued = with_length(client.hello->encode()) + client.buffer.rest();
  client.queued = server.buffer.rest();
  flush(server);
}

void Proxy::flush(Peer& peer) {
  ssize_t sent = send(peer.connection.fd(), peer.queued.data(), peer.queued.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) peer.queued.erase(0, static_cast<size_t>(sent));
  else if (sent < 0 && errno != EAGAIN && errno != EINTR) peer.is_gone = true;
}

void Proxy::remove_gone() {
  for (Peer& peer : peers_) {
    if (!peer.is_gone || !peer.other) continue;
    flush(*peer.other);
    peer.other->is_gone = true;
  }
  for (Peer& peer : peers_)
    if (peer.other && peer.other->is_gone) peer.is_gone = true;
  peers_.remove_if([](const Peer& peer) { return peer.is_gone; });
}

}  // namespace

void run_proxy(const ProxyOptions& options, const std::function<void(int)>& on_ready) {
  check_may_listen(options.listen.host, "an RPC proxy");
  Listener listener = Listener::open(options.listen.host, options.listen.port, options.listen.port_end);
  if (on_ready) on_ready(listener.port);
  Proxy proxy(std::move(listener), options);
  while (proxy.step()) {}
}

}  // namespace tessera::rpc

#include "runtime/rpc/tracker.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <set>

#include "base/json.h"
#include "runtime/rpc/client_session.h"
#include "runtime/rpc/handshake.h"

namespace tessera::rpc {
namespace {

constexpr size_t kMaxConnections = 1024;
constexpr double kTrackerGreeting = 20;  // seconds

struct Client {
  Connection connection;
  std::string host;
  MessageBuffer buffer;
  std::optional<Greeting> greeting;
  bool is_ready = false, is_gone = false;
  Clock::time_point since = Clock::now();
  Map<String, ObjectRef> info;
  std::set<std::string> keys;  // match keys that it put and nobody took
};

struct FreeServer {
  Client* owner;
  std::string host;
  int64_t port;
  std::string match_key;
};

struct Waiting {
  Client* client;
  int64_t priority;
};

struct Queue {
  std::list<FreeServer> free;
  std::list<Waiting> waiting;  // the most urgent first, else the one that came first
};

ObjectRef boxed(Any value) { return box(value); }

/// What a server says of itself; its address is the one we see unless it knows better.
Map<String, ObjectRef> info_of(const Client& client, const Map<String, ObjectRef>& said) {
  Map<String, ObjectRef> out;
  for (const auto& [key, value] : said) {
    auto* pair = key == "addr" ? cast_or_null<ArrayNode>(value.get()) : nullptr;
    bool is_unknown = pair && pair->items.size() == 2 && !pair->items[0];
    out.set(key, is_unknown ? ObjectRef(Array<ObjectRef>{String(client.host), pair->items[1]}) : value);
  }
  return out;
}

class Tracker {
 public:
  explicit Tracker(Listener listener) : listener_(std::move(listener)) {}

  void run(int watched) {
    while (!is_stopped_ && step(watched)) {}
  }

 private:
  bool step(int watched);
  void accept();
  void on_message(Client& client, const std::string& message);
  void on_request(Client& client, const std::string& message);
  void put(Client& client, const Array<ObjectRef>& words);
  void request(Client& client, const Array<ObjectRef>& words);
  void match(const std::string& key);
  void forget(Client* client);
  ObjectRef summary() const;
  static void answer(Client& client, TrackerCode code, ObjectRef value = nullptr);

  Listener listener_;
  std::list<Client> clients_;
  std::map<std::string, Queue> queues_;
  bool is_stopped_ = false;
};

bool Tracker::step(int watched) {
  std::vector<pollfd> waiting{{listener_.socket.get(), POLLIN, 0}, {watched, POLLIN, 0}};
  for (const Client& client : clients_) waiting.push_back({client.connection.fd(), POLLIN, 0});
  if (poll(waiting.data(), waiting.size(), 1000) < 0) return errno == EINTR;
  if (watched >= 0 && waiting[1].revents) return false;
  size_t i = 2;
  for (Client& client : clients_) {
    if (waiting[i++].revents) {
      client.is_gone |= !client.buffer.fill(client.connection.fd());
      while (std::optional<std::string> message = client.is_gone ? std::nullopt : client.buffer.take()) {
        try {
          on_message(client, *message);
        } catch (const Error&) {  // what it said makes no sense, or it does not listen any more
          client.is_gone = true;
        }
      }
    }
    client.is_gone |= !client.is_ready && Clock::now() - client.since > std::chrono::duration<double>(kTrackerGreeting);
  }
  for (auto each = clients_.begin(); each != clients_.end();) {
    if (each->is_gone) forget(&*each);
    each = each->is_gone ? clients_.erase(each) : std::next(each);
  }
  if (waiting[0].revents) accept();
  return true;
}

void Tracker::accept() {
  std::optional<Connection> connection = listener_.accept();
  if (!connection || clients_.size() >= kMaxConnections) return;
  // An answer is short; a client that does not take it must not hold up the others.
  timeval patience{2, 0};
  setsockopt(connection->fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string host = connection->peer().substr(0, connection->peer().rfind(':'));
  clients_.push_back(Client{.connection = std::move(*connection), .host = host});
}

void Tracker::on_message(Client& client, const std::string& message) {
  if (client.is_ready) return on_request(client, message);
  if (!client.greeting) {
    client.greeting.emplace(Hello::decode(message, kTrackerMagic), Welcome::Ok);
    return client.connection.send_message(client.greeting->challenge());
  }
  std::optional<std::string> proof = client.greeting->answer(message);
  client.connection.send_message(proof.value_or(""));
  if (!proof) throw Error(RpcError) << "the secret is another";
  client.is_ready = true;
}

void Tracker::on_request(Client& client, const std::string& message) {
  auto words = Any::of_object(parse_json(message).get()).to<Array<ObjectRef>>();
  auto word = [&](size_t i) {
    if (i >= words.size()) throw Error(ValueError) << "a message of " << words.size() << " parts is too short";
    return Any::of_object(words[i].get());
  };
  switch (static_cast<TrackerCode>(word(0).to<int>())) {
    case TrackerCode::Ping: return answer(client, TrackerCode::Success);
    case TrackerCode::Stop: is_stopped_ = true; return answer(client, TrackerCode::Success);
    case TrackerCode::Put: return put(client, words);
    case TrackerCode::Request: return request(client, words);
    case TrackerCode::UpdateInfo:
      client.info = info_of(client, word(1).to<Map<String, ObjectRef>>());
      return answer(client, TrackerCode::Success);
    case TrackerCode::Summary: return answer(client, TrackerCode::Success, summary());
    case TrackerCode::GetPendingMatchKeys: {
      Array<ObjectRef> keys;
      for (const std::string& key : client.keys) keys.push_back(String(key));
      return answer(client, TrackerCode::Success, keys);
    }
    default: throw Error(ValueError) << "a code that is not known";
  }
}

void Tracker::put(Client& client, const Array<ObjectRef>& words) {
  auto at = [](const Array<ObjectRef>& list, size_t i) {
    if (i >= list.size()) throw Error(ValueError) << "a list is too short";
    return Any::of_object(list[i].get());
  };
  auto key = at(words, 1).to<std::string>();
  auto value = at(words, 2).to<Array<ObjectRef>>();
  auto port = at(value, 0).to<int64_t>();
  auto match_key = at(value, 1).to<std::string>();
  Any address = words.size() > 3 ? at(words, 3) : Any();
  std::string host = address.is_null() ? client.host : address.to<std::string>();
  if (host.empty()) host = client.host;
  if (port < 0 || port > 65535) throw Error(ValueError) << "port " << port;
  queues_[key].free.push_back({&client, host, port, match_key});
  client.keys.insert(match_key);
  answer(client, TrackerCode::Success);
  match(key);
}

void Tracker::request(Client& client, const Array<ObjectRef>& words) {
  if (words.size() < 4) throw Error(ValueError) << "a request has four parts";
  auto key = Any::of_object(words[1].get()).to<std::string>();
  auto priority = Any::of_object(words[3].get()).to<int64_t>();
  std::list<Waiting>& waiting = queues_[key].waiting;
  auto behind = std::find_if(waiting.begin(), waiting.end(), [&](auto& each) { return each.priority < priority; });
  waiting.insert(behind, {&client, priority});
  match(key);
}

void Tracker::match(const std::string& key) {
  Queue& queue = queues_[key];
  while (!queue.free.empty() && !queue.waiting.empty()) {
    FreeServer server = queue.free.front();
    Waiting next = queue.waiting.front();
    queue.waiting.pop_front();
    try {
      answer(*next.client, TrackerCode::Success,
             Array<ObjectRef>{String(server.host), boxed(server.port), String(server.match_key)});
    } catch (const Error&) {
      next.client->is_gone = true;
      continue;
    }
    server.owner->keys.erase(server.match_key);
    queue.free.pop_front();
  }
}

void Tracker::forget(Client* client) {
  for (auto each = queues_.begin(); each != queues_.end();) {
    each->second.free.remove_if([&](const FreeServer& server) { return server.owner == client; });
    each->second.waiting.remove_if([&](const Waiting& waiting) { return waiting.client == client; });
    each = each->second.free.empty() && each->second.waiting.empty() && client->info.empty() ? queues_.erase(each)
                                                                                             : std::next(each);
  }
}

ObjectRef Tracker::summary() const {
  Map<String, ObjectRef> queues;
  for (const auto& [key, queue] : queues_)
    queues.set(String(key), Map<String, ObjectRef>{{"free", boxed(static_cast<int64_t>(queue.free.size()))},
                                                   {"pending", boxed(static_cast<int64_t>(queue.waiting.size()))}});
  Array<ObjectRef> servers;
  for (const Client& client : clients_)
    if (!client.info.empty()) servers.push_back(client.info);
  return Map<String, ObjectRef>{{"queue_info", queues}, {"server_info", servers}};
}

void Tracker::answer(Client& client, TrackerCode code, ObjectRef value) {
  Array<ObjectRef> words{boxed(static_cast<int64_t>(code))};
  if (value) words.push_back(value);
  client.connection.send_message(value ? to_json(words) : std::to_string(static_cast<int>(code)));
}

}  // namespace

bool MessageBuffer::fill(int fd) {
  char piece[16 << 10];
  ssize_t got = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (got > 0) data_.append(piece, static_cast<size_t>(got));
  uint32_t size = 0;
  if (data_.size() >= sizeof size) std::memcpy(&size, data_.data(), sizeof size);
  return size <= kMaxMessage;
}

std::optional<std::string> MessageBuffer::take() {
  uint32_t size;
  if (data_.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, data_.data(), sizeof size);
  if (size > kMaxMessage || data_.size() - sizeof size < size) return std::nullopt;
  std::string out = data_.substr(sizeof size, size);
  data_.erase(0, sizeof size + size);
  return out;
}

void run_tracker(const ListenOptions& options, const std::function<void(int)>& on_ready) {
  check_may_listen(options.host, "an RPC tracker");
  Listener listener = Listener::open(options.host, options.port, options.port_end);
  if (on_ready) on_ready(listener.port);
  Tracker(std::move(listener)).run(options.watched);
}

TrackerClient::TrackerClient(const std::string& host, int port) : connection_(Connection::open(host, port)) {
  introduce(connection_, Hello{.magic = kTrackerMagic, .is_server = false, .key = "", .timeout = 0, .nonce = ""},
            after(kTrackerGreeting));
}

std::string TrackerClient::receive(Deadline deadline) { return connection_.receive_message(deadline, 16 << 20); }

std::string TrackerClient::call(const std::string& message, Deadline deadline) {
  send(message);
  return receive(deadline);
}

namespace {

/// The tracker's answer to a request, which comes when a server is free.
std::string ask(TrackerClient& tracker, const std::string& request, const std::string& key) {
  constexpr double kWait = 120;  // seconds
  try {
    return tracker.call(request, after(kWait));
  } catch (const Error& error) {
    if (error.kind() != RpcTimeoutError) throw;
    throw Error(RpcError) << "no server of the key " << key << " was free for " << kWait << " s; "
                          << "python -m tessera.exec.query_rpc_tracker shows those there are";
  }
}

}  // namespace

std::shared_ptr<ClientSession> request_session(const std::string& host, int port, const std::string& key,
                                               int priority) {
  TrackerClient tracker(host, port);
  Array<ObjectRef> request{boxed(static_cast<int64_t>(TrackerCode::Request)), String(key), String(""),
                           boxed(static_cast<int64_t>(priority))};
  auto answer = Any::of_object(parse_json(ask(tracker, to_json(request), key)).get()).to<Array<ObjectRef>>();
  if (answer.size() != 2) throw Error(RpcError) << "the tracker gave no server of the key " << key;
  auto address = Any::of_object(answer[1].get()).to<Array<ObjectRef>>();
  if (address.size() != 3) throw Error(RpcError) << "the tracker gave no address of a server";
  auto word = [&](size_t i) { return Any::of_object(address[i].get()); };
  return connect(word(0).to<std::string>(), word(1).to<int>(), word(2).to<std::string>());
}

}  // namespace tessera::rpc

#include "runtime/rpc/tracker_link.h"

#include "base/json.h"

namespace tessera::rpc {
namespace {

using namespace std::chrono_literals;

constexpr double kAnswerSeconds = 5;
constexpr auto kRetry = 2s, kCheck = 5s;
constexpr auto kPatience = 15s;  // a client that was given the key has so long to come

std::string tracker_message(std::initializer_list<Any> words) {
  Array<ObjectRef> list;
  for (const Any& word : words) list.push_back(word.is_null() ? ObjectRef(nullptr) : box(word));
  return to_json(list);
}

}  // namespace

void TrackerLink::tend(bool is_busy) {
  if (Clock::now() < next_try_) return;
  try {
    if (!client_) connect();
    if (is_busy) return;
    if (match_key_.empty()) put();
    else if (Clock::now() >= next_check_) check();
  } catch (const Error& error) {
    if (!options_.is_silent) std::fprintf(stderr, "rpc-server: tracker: %s\n", error.message().c_str());
    lost();
    next_try_ = Clock::now() + kRetry;
  }
}

void TrackerLink::connect() {
  client_.emplace(options_.tracker_host, options_.tracker_port);
  Array<ObjectRef> address{options_.custom_addr.empty() ? ObjectRef(nullptr) : String(options_.custom_addr),
                           box(Any(port_))};
  Map<String, ObjectRef> info{{"key", String("server:" + options_.key)}, {"addr", address}};
  client_->call(tracker_message({Any(static_cast<int>(TrackerCode::UpdateInfo)), Any(info)}), after(kAnswerSeconds));
}

void TrackerLink::put() {
  std::string key = random_key(options_.key + ":");
  Array<ObjectRef> value{box(Any(port_)), String(key)};
  Any address = options_.custom_addr.empty() ? Any() : Any(options_.custom_addr);
  client_->call(tracker_message({Any(static_cast<int>(TrackerCode::Put)), Any(options_.key), Any(value), address}),
                after(kAnswerSeconds));
  match_key_ = key;
  was_taken_ = false;
  next_check_ = Clock::now() + kCheck;
}

void TrackerLink::check() {
  next_check_ = Clock::now() + kCheck;
  std::string answer =
      client_->call(tracker_message({Any(static_cast<int>(TrackerCode::GetPendingMatchKeys))}), after(kAnswerSeconds));
  if (answer.find(match_key_) != answer.npos) return;
  if (!std::exchange(was_taken_, true)) taken_ = Clock::now();
  if (Clock::now() - taken_ > kPatience) put();
}

}  // namespace tessera::rpc

#pragma once
// The first words of a connection. Whoever connects says what it wants and under which key, and both sides prove that they
// know the shared secret without saying it: each answers the other's random number with an HMAC over both numbers.
//
//   client                                server
//   Hello{magic, key, timeout, nonce} ->
//                                      <- Challenge{code, nonce}
//   hmac("client", all of it)         ->
//                                      <- hmac("server", all of it)
//
// A proxy reads the hello alone and passes the rest on: the secret is between the two ends.

#include "runtime/rpc/connection.h"

namespace tessera::rpc {

inline constexpr uint32_t kRpcMagic = 0xff271, kTrackerMagic = 0x2f271;
/// What a challenge says, beside its magic; the numbers are v0.10's, the last is ours.
enum class Welcome : uint32_t { Ok = 0, Duplicate = 1, KeyMismatch = 2, WrongSecret = 3 };

struct Hello {
  uint32_t magic = kRpcMagic;
  bool is_server = false;  // a server that waits at a proxy, not a client
  std::string key;         // which server is meant; no secret
  uint32_t timeout = 0;    // seconds that the session may take; 0: any
  std::string nonce;

  std::string encode() const;
  /// Anything but a hello of `magic` is an error.
  static Hello decode(std::string_view message, uint32_t magic);
};

/// The side that was connected to, step by step, so that one thread can talk to many.
class Greeting {
 public:
  Greeting(Hello hello, Welcome welcome);
  std::string challenge() const;
  /// The proof for the other side when its own is right; none otherwise.
  std::optional<std::string> answer(std::string_view proof) const;
  const Hello& hello() const { return hello_; }

 private:
  Hello hello_;
  Welcome welcome_;
  std::string nonce_;
};

/// The connecting side, to its end. Errors say what the server did not like.
void introduce(Connection& connection, Hello hello, Deadline deadline);
/// The other side. `expects` says which keys are welcome. An unwelcome client is told so, and is an error here.
template <class F>
Hello welcome(Connection& connection, uint32_t magic, F&& expects, Deadline deadline) {
  Hello hello = Hello::decode(connection.receive_message(deadline), magic);
  Greeting greeting(hello, expects(hello) ? Welcome::Ok : Welcome::KeyMismatch);
  connection.send_message(greeting.challenge());
  std::optional<std::string> proof = greeting.answer(connection.receive_message(deadline));
  connection.send_message(proof.value_or(""));
  if (!proof) throw Error(RpcError) << connection.peer() << " does not know the key or the secret";
  return hello;
}

}  // namespace tessera::rpc

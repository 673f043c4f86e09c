#include "runtime/rpc/handshake.h"

#include "runtime/byte_stream.h"
#include "runtime/rpc/sha256.h"

namespace tessera::rpc {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kNonce = 32;

std::string proof_of(std::string_view side, const Hello& hello, std::string_view server_nonce) {
  ByteWriter said;
  said.write(side);
  said.write(hello.encode());
  said.write(server_nonce);
  return std::string(text_of(hmac_sha256(shared_secret(), said.take())));
}

}  // namespace

std::string Hello::encode() const {
  ByteWriter out;
  out.write(magic);
  out.write(kVersion);
  out.write(uint8_t{is_server});
  out.write(key);
  out.write(timeout);
  out.raw(nonce.data(), nonce.size());
  return out.take();
}

Hello Hello::decode(std::string_view message, uint32_t magic) {
  ByteReader in(message, "RPC hello");
  Hello out;
  out.magic = in.read<uint32_t>("magic");
  if (out.magic != magic) in.fail("magic", "is not that of this protocol");
  if (auto version = in.read<uint32_t>("version"); version != kVersion)
    in.fail("version", "is " + std::to_string(version) + ", not " + std::to_string(kVersion));
  out.is_server = in.read<uint8_t>("role") != 0;
  out.key = in.read_string("key");
  out.timeout = in.read<uint32_t>("timeout");
  out.nonce = in.raw(kNonce, "nonce");
  if (in.left()) in.fail("end", "is not where the hello ends");
  return out;
}

Greeting::Greeting(Hello hello, Welcome welcome)
    : hello_(std::move(hello)), welcome_(welcome), nonce_(random_bytes(kNonce)) {}

std::string Greeting::challenge() const {
  ByteWriter out;
  out.write(hello_.magic + static_cast<uint32_t>(welcome_));
  out.raw(nonce_.data(), nonce_.size());
  return out.take();
}

std::optional<std::string> Greeting::answer(std::string_view proof) const {
  if (welcome_ != Welcome::Ok || !same_digest(proof, proof_of("client", hello_, nonce_))) return std::nullopt;
  return proof_of("server", hello_, nonce_);
}

void introduce(Connection& connection, Hello hello, Deadline deadline) {
  hello.nonce = random_bytes(kNonce);
  connection.send_message(hello.encode());
  std::string challenge = connection.receive_message(deadline);
  ByteReader in(challenge, "RPC challenge");
  uint32_t code = in.read<uint32_t>("code") - hello.magic;
  std::string nonce(in.raw(kNonce, "nonce"));
  switch (static_cast<Welcome>(code)) {
    case Welcome::Ok: break;
    case Welcome::Duplicate:
      throw Error(RpcError) << "key: \"" << hello.key << "\" has already been used in " << connection.peer();
    case Welcome::KeyMismatch:
      throw Error(RpcError) << connection.peer() << " is not matching the key \"" << hello.key
                            << "\"; give connect the key that the server was started with";
    default: throw Error(RpcError) << connection.peer() << " is no RPC server of this kind";
  }
  connection.send_message(proof_of("client", hello, nonce));
  std::string proof = connection.receive_message(deadline);
  if (!same_digest(proof, proof_of("server", hello, nonce)))
    throw Error(RpcError) << connection.peer()
                          << (proof.empty() ? " does not accept our secret" : " has another secret")
                          << "; TESSERA_RPC_SECRET must be the same text on both sides";
}

}  // namespace tessera::rpc

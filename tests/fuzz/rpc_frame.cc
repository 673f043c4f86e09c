// Frames of an RPC session: any bytes are answered, or end the session with an error. The first byte chooses how the rest is
// divided into frames; functions that are called must be harmless, so that the session knows those of tests alone.

#include "expect_error.h"
#include "runtime/registry.h"
#include "runtime/rpc/handshake.h"
#include "runtime/rpc/server_session.h"

using namespace tessera;

namespace {

/// A session that holds what a client could have asked for: functions, a tensor of 64 bytes.
void prepare(rpc::ServerSession& session) {
  for (const char* name : {"testing.echo", "testing.nop", "testing.device_test", "testing.ErrorTest"}) {
    ByteWriter frame = rpc::frame_of(rpc::Code::GetGlobalFunc);
    frame.write(name);
    session.answer(frame.take());
  }
  ByteWriter frame = rpc::frame_of(rpc::Code::DevAllocData);
  rpc::write_device(frame, cpu());
  frame.write(int64_t{64});
  session.answer(frame.take());
}

/// Names of functions are looked up, not called with forged arguments: those of the runtime do what they are told.
bool asks_for_a_function(std::string_view frame) {
  return !frame.empty() && static_cast<rpc::Code>(frame[0]) == rpc::Code::GetGlobalFunc;
}
/// Memory is limited by the machine, not by the session.
bool asks_for_much_memory(std::string_view frame) {
  auto code = frame.empty() ? rpc::Code::Shutdown : static_cast<rpc::Code>(frame[0]);
  if (code == rpc::Code::DevAllocDataWithScope) return true;
  if (code != rpc::Code::DevAllocData || frame.size() != 17) return false;
  int64_t bytes;
  std::memcpy(&bytes, frame.data() + 9, sizeof bytes);
  return bytes > 1 << 20;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] { rpc::Hello::decode(bytes, rpc::kRpcMagic).encode(); });
  rpc::ServerSession session;
  prepare(session);
  expect_value_or_error([&] {
    while (bytes.size() >= 2 && !session.is_over()) {
      size_t length = std::min<size_t>(static_cast<uint8_t>(bytes[0]), bytes.size() - 1);
      std::string_view frame = bytes.substr(1, length);
      bytes.remove_prefix(1 + length);
      if (!asks_for_a_function(frame) && !asks_for_much_memory(frame)) session.answer(frame);
    }
  });
  return 0;
}

#pragma once
// The server's side of one session: frames in, frames out. What a client may use is what this session gave it.

#include <unordered_map>

#include "runtime/ndarray.h"
#include "runtime/rpc/connection.h"
#include "runtime/rpc/wire.h"

namespace tessera::rpc {

class ServerSession : private WireObjects {
 public:
  /// What is answered to a frame: a result, or the exception that came of it; none where nothing is. A frame that is not
  /// well-formed is an error, and the end of the session.
  std::optional<std::string> answer(std::string_view frame);
  bool is_over() const { return is_over_; }

 private:
  /// The value of a request; errors become exceptions of the client's.
  Any perform(Code code, ByteReader& in);
  Any call(ByteReader& in);
  Handle keep(Any value);
  const Any& find(Handle handle, const char* kind) const;
  /// A piece of memory of the session: checked to lie inside what the handle stands for.
  NDArray piece(Handle handle, uint64_t offset, std::span<const int64_t> shape, DataType dtype) const;
  NDArray piece(Handle handle, uint64_t offset, uint64_t bytes) const;

  Handle handle_of(const AnyView& value, const std::string& what) override;
  WireTensor tensor_of(const AnyView& value, const std::string& what) override;
  DLDevice device_of(DLDevice device, const std::string&) override { return device; }
  Any function(Handle handle) override;
  Any module(Handle handle) override;
  Any tensor(const WireTensor& tensor) override;
  Any device(DLDevice device) override { return device; }

  std::unordered_map<Handle, Any> kept_;
  Handle next_ = 1;
  bool is_over_ = false;
};

/// Answers frames until the client goes or sends what is no frame, which is an error.
void serve_session(Connection& connection);

}  // namespace tessera::rpc

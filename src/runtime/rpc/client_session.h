#pragma once
// The client's side of a session. Devices of the session have types of their own (see kRpcSessionMask), so that tensors,
// functions and modules over there are used as those of this process are.

#include <atomic>
#include <mutex>

#include "runtime/device.h"
#include "runtime/module/module.h"
#include "runtime/rpc/connection.h"
#include "runtime/rpc/wire.h"

namespace tessera::rpc {

class ClientSession : public std::enable_shared_from_this<ClientSession>, private WireObjects {
 public:
  /// Takes over a connection that was introduced. `timeout` seconds after now the server ends the session; 0: never.
  static std::shared_ptr<ClientSession> start(Connection connection, uint32_t timeout = 0);
  ~ClientSession() override;
  ClientSession(const ClientSession&) = delete;

  /// Which session this is: its devices are of type + 128 * (index + 1).
  int index() const { return index_; }
  int masked(int device_type) const { return device_type + kRpcSessionMask * (index_ + 1); }
  static std::shared_ptr<ClientSession> find(int index);

  PackedFunc get_function(const std::string& name);
  Any call(Handle function, Args args);
  /// Sends a request whose frame is complete, and waits for its value.
  Any request(ByteWriter frame);
  void free_handle(Handle handle);
  void copy_to(Handle handle, uint64_t offset, const char* data, size_t bytes);
  void copy_from(Handle handle, uint64_t offset, char* data, size_t bytes);

  /// Every answer from now on must come within so many seconds; 0: whenever. A late one is an error and ends the session.
  void set_answer_timeout(double seconds) { answer_timeout_ = seconds; }
  /// True when the connection is lost, or was ended because of a late answer.
  bool is_closed() const { return is_closed_; }
  void close();

 private:
  ClientSession(Connection connection, uint32_t timeout);

  Handle handle_of(const AnyView& value, const std::string& what) override;
  WireTensor tensor_of(const AnyView& value, const std::string& what) override;
  DLDevice device_of(DLDevice device, const std::string& what) override;
  Any function(Handle handle) override;
  Any module(Handle handle) override;
  Any tensor(const WireTensor& tensor) override;
  Any device(DLDevice device) override;

  std::string exchange(const std::string& frame);
  void free_pending();

  Connection connection_;
  Deadline end_;  // when the server ends the session
  double answer_timeout_ = 0;
  int index_ = -1;
  std::atomic<int> is_closed_ = 0;  // not of a byte, which RISC-V exchanges by a library call
  std::mutex mutex_;                // of the connection: a request and its answer are one
  std::mutex pending_mutex_;
  std::vector<Handle> pending_;  // handles to free before the next request
};

/// Something of the server's, freed there when the last reference here goes.
struct RemoteObject {
  std::shared_ptr<ClientSession> session;
  Handle handle = 0;
  uint64_t bytes = 0;  // of memory
  RemoteObject(std::shared_ptr<ClientSession> session, Handle handle, uint64_t bytes = 0)
      : session(std::move(session)), handle(handle), bytes(bytes) {}
  ~RemoteObject() { session->free_handle(handle); }
  RemoteObject(const RemoteObject&) = delete;
};

/// The body of a function of a session.
struct RemoteFunction {
  std::shared_ptr<RemoteObject> object;
  void operator()(Args args, Any* result) const { *result = object->session->call(object->handle, args); }
};

/// A module of a session; the one with handle 0 is the session: its functions are the global ones.
class RemoteModule : public ModuleBody {
 public:
  explicit RemoteModule(std::shared_ptr<RemoteObject> object) : object_(std::move(object)) {}
  std::string type_key() const override { return "rpc"; }
  PackedFunc get_function(const std::string& name, const Module& self) override;
  const RemoteObject& object() const { return *object_; }

 private:
  std::shared_ptr<RemoteObject> object_;
};

/// The body of a remote module, or null.
RemoteModule* as_remote(const Module& module);
/// The session as a module.
Module session_module(const std::shared_ptr<ClientSession>& session);

/// A session with a server that listens.
std::shared_ptr<ClientSession> connect(const std::string& host, int port, const std::string& key, uint32_t timeout = 0);

}  // namespace tessera::rpc

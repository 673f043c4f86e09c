#pragma once
// Packages that run on another machine.

#include "runtime/executable/executable.h"
#include "runtime/package/package.h"
#include "runtime/rpc/client_session.h"

namespace tessera {

/// A classic package whose library is uploaded to a session and whose graph runs there, on a device of `device`'s type. Inputs
/// are tensors of that device or of this machine, results of this machine.
std::unique_ptr<Executable> make_remote_executable(const std::shared_ptr<rpc::ClientSession>& session,
                                                   const Package& package, DLDevice device);

/// A session with the server at `host`, or with one that the tracker at `host` lists, where `key` names a kind of server.
std::shared_ptr<rpc::ClientSession> remote_session(const std::string& host, int port, const std::string& key);

}  // namespace tessera

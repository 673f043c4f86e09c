#pragma once
// Files of a session: a folder of its own on the server, out of which no name leads.

#include <string>

namespace tessera::rpc {

/// The folder of the session that this process serves; made when first asked for, unless it was given.
const std::string& session_folder();
void set_session_folder(const std::string& path);

/// Where a name of a client's lies. Absolute names, "..", empty parts and names that are too long are a ValueError.
std::string session_path(const std::string& name);

}  // namespace tessera::rpc

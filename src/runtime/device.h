#pragma once
// Names of devices, as messages and `tvm.device` spell them.

#include <string>
#include <string_view>

#include "base/any.h"

namespace tessera {

/// Device types with this bit or more live behind an RPC session: type + 128 * (session + 1).
inline constexpr int kRpcSessionMask = 128;

inline DLDevice make_device(int type, int id) { return {static_cast<DLDeviceType>(type), id}; }
inline DLDevice cpu(int id = 0) { return make_device(kDLCPU, id); }
inline bool same_device(DLDevice a, DLDevice b) { return a.device_type == b.device_type && a.device_id == b.device_id; }

/// "cpu", "cuda", ...; "device type 77" for a code without a name.
std::string device_type_name(int type);
/// The code of a device name or of a target kind that runs on it ("llvm" is 1); -1 when there is none.
int find_device_type(std::string_view name);

/// "cpu(0)", "remote[1]:cuda(0)".
std::string device_text(DLDevice device);

}  // namespace tessera

#pragma once
// What the split of host and device leaves for the device's code generator.

namespace tessera::attr {

/// A kernel that asks for dynamic shared memory; its launch says how many bytes, after the thread extents.
inline constexpr const char* kDeviceUseDynSharedMemory = "tir.device_use_dyn_shared_memory";

}  // namespace tessera::attr

#include "tir/transform/memory/memory_info.h"

#include "runtime/registry.h"

namespace tessera {

MemoryInfo memory_info(const std::string& scope) {
  PackedFunc find = find_global("tvm.info.mem." + scope);
  if (!find) return nullptr;
  return find().to<MemoryInfo>();
}

static register_types<MemoryInfoNode> memory_info_types;

}  // namespace tessera

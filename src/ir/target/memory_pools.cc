#include "ir/target/memory_pools.h"

#include "runtime/registry.h"

namespace tessera {
namespace {

register_types<PoolInfoPropertiesNode, PoolInfoNode, WorkspacePoolInfoNode, ConstantInfoNode, ConstantPoolInfoNode,
               WorkspaceMemoryPoolsNode, ConstantMemoryPoolsNode>
    memory_pools_types;

Integer integer(int64_t value) { return downcast<Integer>(int_imm(DataType::Int(value >> 31 ? 64 : 32), value)); }

PoolInfoProperties properties_of(int64_t size, int64_t clock, int64_t read_bandwidth, int64_t write_bandwidth,
                                 int64_t read_latency, int64_t write_latency, Map<Target, Integer> burst_bytes) {
  return make(PoolInfoPropertiesNode{.size_hint_bytes = integer(size),
                                     .clock_frequency_hz = integer(clock),
                                     .read_bandwidth_bytes_per_cycle = integer(read_bandwidth),
                                     .write_bandwidth_bytes_per_cycle = integer(write_bandwidth),
                                     .read_latency_cycles = integer(read_latency),
                                     .write_latency_cycles = integer(write_latency),
                                     .target_burst_bytes = burst_bytes ? burst_bytes : Map<Target, Integer>()});
}

/// Fills in the name and the properties, which are the usual unknowns when not given.
template <class Node>
Node described(String name, Array<Target> targets, PoolInfoProperties given) {
  PoolInfoProperties known = given ? given : properties_of(-1, -1, -1, -1, 0, 0, nullptr);
  Node node;
  node.pool_name = std::move(name);
  node.targets = std::move(targets);
  node.size_hint_bytes = known->size_hint_bytes;
  node.clock_frequency_hz = known->clock_frequency_hz;
  node.read_bandwidth_bytes_per_cycle = known->read_bandwidth_bytes_per_cycle;
  node.write_bandwidth_bytes_per_cycle = known->write_bandwidth_bytes_per_cycle;
  node.read_latency_cycles = known->read_latency_cycles;
  node.write_latency_cycles = known->write_latency_cycles;
  node.target_burst_bytes = known->target_burst_bytes;
  node.is_internal = known->is_internal;
  return node;
}

ConstantPoolInfo constant_pool_of(String name, Array<Target> targets, Array<ConstantInfo> constants,
                                  PoolInfoProperties given) {
  auto node = described<ConstantPoolInfoNode>(std::move(name), std::move(targets), std::move(given));
  if (constants) node.constant_info_array = std::move(constants);
  return make(std::move(node));
}

Globals memory_pools_globals{
    {"ir.PoolInfoProperties", properties_of},
    {"ir.WorkspacePoolInfo",
     [](String name, Array<Target> targets, PoolInfoProperties given) {
       return make(described<WorkspacePoolInfoNode>(name, targets, given));
     }},
    {"ir.ConstantPoolInfo", constant_pool_of},
    {"ir.ConstantInfo",
     [](String name, int64_t offset, NDArray data) {
       return make(ConstantInfoNode{.name_hint = name, .byte_offset = integer(offset), .data = data});
     }},
    {"ir.WorkspaceMemoryPools",
     [](Array<WorkspacePoolInfo> pools) { return make(WorkspaceMemoryPoolsNode{.pools = pools}); }},
    {"ir.ConstantMemoryPools",
     [](Array<ConstantPoolInfo> pools) { return make(ConstantMemoryPoolsNode{.pools = pools}); }},
};

}  // namespace
}  // namespace tessera

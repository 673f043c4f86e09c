#pragma once
// Memories of a device that workspaces and constants of a compiled program are put into.

#include "ir/expr.h"
#include "ir/target/target.h"
#include "runtime/ndarray.h"

namespace tessera {

using Integer = Ref<IntImm>;

/// What is known of a memory; -1 where nothing is.
struct PoolInfoPropertiesNode : Object {
  Integer size_hint_bytes, clock_frequency_hz, read_bandwidth_bytes_per_cycle, write_bandwidth_bytes_per_cycle,
      read_latency_cycles, write_latency_cycles;
  Map<Target, Integer> target_burst_bytes;
  bool is_internal = false;
  static constexpr NodeInfo info{"ir.PoolInfoProperties", &Object::info};
  static void fields(auto f) {
    f("size_hint_bytes", &PoolInfoPropertiesNode::size_hint_bytes);
    f("clock_frequency_hz", &PoolInfoPropertiesNode::clock_frequency_hz);
    f("read_bandwidth_bytes_per_cycle", &PoolInfoPropertiesNode::read_bandwidth_bytes_per_cycle);
    f("write_bandwidth_bytes_per_cycle", &PoolInfoPropertiesNode::write_bandwidth_bytes_per_cycle);
    f("read_latency_cycles", &PoolInfoPropertiesNode::read_latency_cycles);
    f("write_latency_cycles", &PoolInfoPropertiesNode::write_latency_cycles);
    f("target_burst_bytes", &PoolInfoPropertiesNode::target_burst_bytes);
    f("is_internal", &PoolInfoPropertiesNode::is_internal);
  }
};
using PoolInfoProperties = Ref<PoolInfoPropertiesNode>;

/// A named memory that code of some targets can reach.
struct PoolInfoNode : Object {
  String pool_name;
  Array<Target> targets;
  Integer size_hint_bytes, clock_frequency_hz, read_bandwidth_bytes_per_cycle, write_bandwidth_bytes_per_cycle,
      read_latency_cycles, write_latency_cycles;
  Map<Target, Integer> target_burst_bytes;
  bool is_internal = false;
  static constexpr NodeInfo info{"ir.PoolInfo", &Object::info};
  static void fields(auto f) {
    f("pool_name", &PoolInfoNode::pool_name);
    f("targets", &PoolInfoNode::targets);
    f("size_hint_bytes", &PoolInfoNode::size_hint_bytes);
    f("clock_frequency_hz", &PoolInfoNode::clock_frequency_hz);
    f("read_bandwidth_bytes_per_cycle", &PoolInfoNode::read_bandwidth_bytes_per_cycle);
    f("write_bandwidth_bytes_per_cycle", &PoolInfoNode::write_bandwidth_bytes_per_cycle);
    f("read_latency_cycles", &PoolInfoNode::read_latency_cycles);
    f("write_latency_cycles", &PoolInfoNode::write_latency_cycles);
    f("target_burst_bytes", &PoolInfoNode::target_burst_bytes);
    f("is_internal", &PoolInfoNode::is_internal);
  }
};

struct WorkspacePoolInfoNode : PoolInfoNode {
  static constexpr NodeInfo info{"ir.WorkspacePoolInfo", &PoolInfoNode::info};
  static void fields(auto) {}
};
using WorkspacePoolInfo = Ref<WorkspacePoolInfoNode>;

/// A constant and its offset in a pool.
struct ConstantInfoNode : Object {
  String name_hint;
  Integer byte_offset;
  NDArray data;
  static constexpr NodeInfo info{"ir.ConstantInfo", &Object::info};
  static void fields(auto f) {
    f("name_hint", &ConstantInfoNode::name_hint);
    f("byte_offset", &ConstantInfoNode::byte_offset);
    f("data", &ConstantInfoNode::data);
  }
};
using ConstantInfo = Ref<ConstantInfoNode>;

struct ConstantPoolInfoNode : PoolInfoNode {
  Array<ConstantInfo> constant_info_array;
  static constexpr NodeInfo info{"ir.ConstantPoolInfo", &PoolInfoNode::info};
  static void fields(auto f) { f("constant_info_array", &ConstantPoolInfoNode::constant_info_array); }
};
using ConstantPoolInfo = Ref<ConstantPoolInfoNode>;

struct WorkspaceMemoryPoolsNode : Object {
  Array<WorkspacePoolInfo> pools;
  static constexpr NodeInfo info{"ir.WorkspaceMemoryPools", &Object::info};
  static void fields(auto f) { f("pools", &WorkspaceMemoryPoolsNode::pools); }
};

struct ConstantMemoryPoolsNode : Object {
  Array<ConstantPoolInfo> pools;
  static constexpr NodeInfo info{"ir.ConstantMemoryPools", &Object::info};
  static void fields(auto f) { f("pools", &ConstantMemoryPoolsNode::pools); }
};

}  // namespace tessera

#pragma once
// Tiling in several levels, with copies of what is read and written in a nearer memory.

#include <map>

#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {

/// Whether a copy is made, at which tiles, in which memory.
struct Reuse {
  enum class Kind { None, May, Must } kind = Kind::None;
  std::vector<int64_t> levels;  // of tiles, from 1
  String scope = "global";
};
/// {"req": "may" | "must" | "no", "levels": [...], "scope": "..."}, or None.
Reuse read_reuse(const ObjectRef& config, const char* what);

struct TilingState {
  Traced sch;
  RV block;
  std::vector<RVs> tiles;
  std::map<int, RV> read_copies;  // by index of the read
  RV write_copy;

  TilingState copied() const;
};

/// One structure letter a level: S spatial, R reduction tiles.
struct MultiLevelTilingNode : ScheduleRuleNode {
  String structure = "SSRSRS";
  std::vector<String> tile_binds;
  int64_t max_innermost_factor = -1;
  std::vector<int64_t> vector_load_lens;
  Reuse reuse_read, reuse_write;
  std::vector<size_t> spatial_levels, reduction_levels;
  int64_t max_threads = -1, warp_size = -1;
  int64_t vector_bits = 0;  // the innermost spatial loop has vectors of so many bits; 0: as it comes

  MultiLevelTilingNode() { methods = &methods_of<MultiLevelTilingNode>; }
  void set(const String& tiling, const Array<String>& binds, const Any& innermost, const Array<PrimExpr>& loads,
           const ObjectRef& read, const ObjectRef& write);
  void initialize(const TuneContextNode& context);
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.MultiLevelTiling", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}

  /// The steps, each giving the states to go on with.
  std::vector<TilingState> tiled(TilingState state) const;
  std::vector<TilingState> with_write_copy(TilingState state) const;
  std::vector<TilingState> with_read_copies(TilingState state) const;
  Array<Schedule> all_steps(const TilingState& state) const;

  RVs split_loop(const TilingState& state, const RV& loop, int parts) const;
  void fetch_together(const Traced& sch, const RV& copy) const;
};

/// The same around an intrinsic that does the innermost work.
struct MultiLevelTilingWithIntrinNode : MultiLevelTilingNode {
  String intrin;
  MultiLevelTilingWithIntrinNode() { methods = &methods_of<MultiLevelTilingWithIntrinNode>; }
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.MultiLevelTilingWithIntrin", &MultiLevelTilingNode::info,
                                 Role::Identity};
  static void fields(auto) {}
};

struct MultiLevelTilingWideVectorNode : MultiLevelTilingNode {
  MultiLevelTilingWideVectorNode() { methods = &methods_of<MultiLevelTilingWideVectorNode>; }
  static constexpr NodeInfo info{"meta_schedule.MultiLevelTilingWideVector", &MultiLevelTilingNode::info,
                                 Role::Identity};
  static void fields(auto) {}
};

/// Names of the intrinsics of one kind of matrix unit.
struct IntrinGroup {
  String init, load_a, load_b, compute, store;
};

/// The same for matmuls, and what can be brought into their form, on the matrix units of CUDA.
struct MultiLevelTilingTensorCoreNode : MultiLevelTilingNode {
  std::vector<IntrinGroup> groups;
  MultiLevelTilingTensorCoreNode() { methods = &methods_of<MultiLevelTilingTensorCoreNode>; }
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.MultiLevelTilingTensorCore", &MultiLevelTilingNode::info,
                                 Role::Identity};
  static void fields(auto) {}
};

/// Tiles the loops of the block so that the inner ones are what the intrinsic does, makes a block of these and notes the
/// intrinsic on it; an empty reference where the block is not of its form.
RV tile_for_intrin(const Traced& sch, const RV& block, const String& intrin);

}  // namespace tessera::meta_schedule

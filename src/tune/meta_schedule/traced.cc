#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {

RV Traced::get_block(const String& name, const String& function) const {
  return run("GetBlock", {}, {name, function})[0];
}

RVs Traced::sample_perfect_tile(const RV& loop, int parts, int max_innermost) const {
  return run("SamplePerfectTile", {loop}, {PrimExpr(parts), PrimExpr(max_innermost)});
}

RV Traced::sample_categorical(const std::vector<int64_t>& candidates) const {
  Array<ObjectRef> values, probs;
  for (int64_t each : candidates) {
    values.push_back(PrimExpr(static_cast<int>(each)));
    probs.push_back(box(Any(1.0 / static_cast<double>(candidates.size()))));
  }
  return run("SampleCategorical", {}, {values, probs})[0];
}

RVs Traced::split(const RV& loop, const RVs& factors) const {
  RVs inputs{loop};
  for (const RV& factor : factors) inputs.push_back(factor);
  return run("Split", inputs, {PrimExpr(1)});
}

void Traced::set_scope(const RV& block, int buffer, const String& scope) const {
  run("SetScope", {block}, {PrimExpr(buffer), scope});
}

void Traced::storage_align(const RV& block, int buffer, int axis, int factor, int offset) const {
  run("StorageAlign", {block}, {PrimExpr(buffer), PrimExpr(axis), PrimExpr(factor), PrimExpr(offset)});
}

RV Traced::cache_read(const RV& block, int buffer, const String& scope, const RVs& consumers) const {
  return run("CacheRead", {block, consumers}, {PrimExpr(buffer), scope})[0];
}

RV Traced::cache_write(const RV& block, int buffer, const String& scope) const {
  return run("CacheWrite", {block}, {PrimExpr(buffer), scope})[0];
}

void Traced::compute_at(const RV& block, const RV& loop) const {
  run("ComputeAt", {block, loop}, {PrimExpr(1), PrimExpr(-1)});
}

void Traced::reverse_compute_at(const RV& block, const RV& loop) const {
  run("ReverseComputeAt", {block, loop}, {PrimExpr(1), PrimExpr(-1)});
}

RV Traced::reindex(const RV& block, int buffer, bool is_write) const {
  return run("ReIndex", {block}, {PrimExpr(buffer), PrimExpr(is_write ? 1 : 0)})[0];
}

void Traced::transform_layout(const RV& block, int buffer, bool is_write, const IndexMap& map) const {
  run("TransformLayout", {block}, {PrimExpr(buffer), PrimExpr(is_write ? 1 : 0), map, ObjectRef()});
}

void Traced::transform_block_layout(const RV& block, const IndexMap& map) const {
  run("TransformBlockLayout", {block}, {map});
}

}  // namespace tessera::meta_schedule

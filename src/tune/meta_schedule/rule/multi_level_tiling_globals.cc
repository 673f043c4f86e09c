// Making tiling rules: what users may ask for, and what they may not.

#include "runtime/registry.h"
#include "tune/meta_schedule/rule/multi_level_tiling.h"

namespace tessera::meta_schedule {

Reuse read_reuse(const ObjectRef& config, const char* what) {
  if (!config) return {};
  auto map = Any::of_object(config.get()).to<Map<String, ObjectRef>>();
  Reuse out;
  String req = downcast<String>(map["req"]);
  if (req == "may") out.kind = Reuse::Kind::May;
  else if (req == "must") out.kind = Reuse::Kind::Must;
  else if (!(req == "no"))
    throw Error(ValueError) << what << ": req is \"no\", \"may\" or \"must\", not " << quoted(req);
  out.levels = ints_of(Any::of_object(map["levels"].get()).to<Array<PrimExpr>>());
  out.scope = downcast<String>(map["scope"]);
  return out;
}

void MultiLevelTilingNode::set(const String& tiling, const Array<String>& binds, const Any& innermost,
                               const Array<PrimExpr>& loads, const ObjectRef& read, const ObjectRef& write) {
  structure = tiling;
  for (size_t i = 0; i < tiling.size(); ++i) {
    char letter = tiling.str()[i];
    if (letter != 'S' && letter != 'R')
      throw Error(ValueError) << "a tiling structure has the letters S and R, not " << quoted(tiling);
    (letter == 'S' ? spatial_levels : reduction_levels).push_back(i);
  }
  tile_binds.assign(binds.begin(), binds.end());
  if (!innermost.is_null()) max_innermost_factor = innermost.to<int64_t>();
  if (loads.defined()) vector_load_lens = ints_of(loads);
  reuse_read = read_reuse(read, "reuse_read");
  reuse_write = read_reuse(write, "reuse_write");
  if (reuse_read.kind == Reuse::Kind::May)
    throw Error(ValueError) << "reuse_read: req \"may\" is not there; give \"must\" or \"no\"";
  for (const Reuse* reuse : {&reuse_read, &reuse_write})
    for (int64_t level : reuse->levels)
      if (level < 1 || level > static_cast<int64_t>(tiling.size()))
        throw Error(ValueError) << "a level of reuse lies in [1, " << tiling.size() << "], " << level << " does not";
}

namespace {

Globals multi_level_tiling_globals{
    {"meta_schedule.ScheduleRuleMultiLevelTiling",
     [](const String& structure, const Array<String>& binds, const Any& innermost, const Array<PrimExpr>& loads,
        const ObjectRef& read, const ObjectRef& write) {
       MultiLevelTilingNode rule;
       rule.set(structure, binds, innermost, loads, read, write);
       return ScheduleRule(make(std::move(rule)));
     }},
    {"meta_schedule.ScheduleRuleMultiLevelTilingWithIntrin",
     [](const String& intrin, const String& structure, const Array<String>& binds, const Any& innermost,
        const Array<PrimExpr>& loads, const ObjectRef& read, const ObjectRef& write) {
       MultiLevelTilingWithIntrinNode rule;
       rule.set(structure, binds, innermost, loads, read, write);
       rule.intrin = intrin;
       return ScheduleRule(make(std::move(rule)));
     }},
    {"meta_schedule.ScheduleRuleMultiLevelTilingWideVector",
     [](const String& structure, int64_t bits, const Any& innermost, const ObjectRef& read, const ObjectRef& write) {
       MultiLevelTilingWideVectorNode rule;
       rule.set(structure, {}, innermost, {}, read, write);
       if (bits < 8) throw Error(ValueError) << "vectors have at least 8 bits, not " << bits;
       rule.vector_bits = bits;
       return ScheduleRule(make(std::move(rule)));
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule

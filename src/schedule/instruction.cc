#include "schedule/instruction.h"

namespace tessera::schedule {
namespace {

using Values = Array<ObjectRef>;

int to_int(const ObjectRef& value) {
  auto* number = value.as<IntImm>();
  if (!number) throw Error(TypeError) << "expected an int, got " << to_text(value);
  return static_cast<int>(number->value);
}
String to_string(const ObjectRef& value) {
  if (auto* text = value.as<StringImm>()) return text->value;
  String out = downcast_or_null<String>(value);
  if (!out.defined()) throw Error(TypeError) << "expected a str, got " << to_text(value);
  return out;
}
Values array_of(const ObjectRef& value) { return value ? Values(value.as<ArrayNode>()) : Values(); }

template <class R>
Values rvs(ScheduleNode& sch, const std::vector<R>& refs) {
  Values out;
  for (const R& ref : refs) out.push_back(sch.add(ref));
  return out;
}
std::vector<LoopRef> loops_of(const ScheduleNode& sch, const Values& inputs) {
  std::vector<LoopRef> out;
  for (const ObjectRef& rv : inputs) out.push_back(sch.loop(rv));
  return out;
}

#define RUN [](ScheduleNode & sch, const Values& in, const Values& attrs) -> Values
#define NOTHING (void)in, (void)attrs, Values()

const InstructionRecord records[] = {
    {"GetBlock", "get_block", "name={a0}, func_name={a1}",
     RUN{return (void)in, rvs<BlockRef>(sch, {get_block(sch.state, to_string(attrs[0]), to_string(attrs[1]))});
}  // namespace
}  // namespace tessera::schedule
, {"GetLoops", "get_loops", "block={i0}", RUN{return (void)attrs, rvs(sch, get_loops(sch.state, sch.block(in[0])));
}
}
, {"GetChildBlocks", "get_child_blocks", "{i0}",
   RUN{return (void)attrs, rvs(sch, get_child_blocks(sch.state, sch.place(in[0])));
}
}
, {"GetProducers", "get_producers", "block={i0}",
   RUN{return (void)attrs, rvs(sch, get_producers(sch.state, sch.block(in[0])));
}
}
, {"GetConsumers", "get_consumers", "block={i0}",
   RUN{return (void)attrs, rvs(sch, get_consumers(sch.state, sch.block(in[0])));
}
}
, {"Split", "split", "loop={i0}, factors=[{i1:}], preserve_unit_iters={b0}", RUN{std::vector<PrimExpr> factors;
for (size_t i = 1; i < in.size(); ++i) factors.push_back(in[i] ? sch.value(downcast<PrimExpr>(in[i])) : PrimExpr());
return rvs(sch, split(sch.state, sch.loop(in[0]), factors, to_int(attrs[0])));
}
}
, {"Fuse", "fuse", "{i0:}, preserve_unit_iters={b0}",
   RUN{return rvs<LoopRef>(sch, {fuse(sch.state, loops_of(sch, in), to_int(attrs[0]))});
}
}
, {"Reorder", "reorder", "{i0:}", RUN{return reorder(sch.state, loops_of(sch, in)), NOTHING;
}
}
, {"AddUnitLoop", "add_unit_loop", "block_or_loop={i0}",
   RUN{return (void)attrs, rvs<LoopRef>(sch, {add_unit_loop(sch.state, sch.place(in[0]))});
}
}
, {"Parallel", "parallel", "loop={i0}", RUN{return parallel(sch.state, sch.loop(in[0])), NOTHING;
}
}
, {"Vectorize", "vectorize", "loop={i0}", RUN{return vectorize(sch.state, sch.loop(in[0])), NOTHING;
}
}
, {"Unroll", "unroll", "loop={i0}", RUN{return unroll(sch.state, sch.loop(in[0])), NOTHING;
}
}
, {"Bind", "bind", "loop={i0}, thread_axis={a0}",
   RUN{return bind(sch.state, sch.loop(in[0]), to_string(attrs[0])), NOTHING;
}
}
, {"Annotate", "annotate", "block_or_loop={i0}, ann_key={a0}, ann_val={i1}", RUN{auto* e = in[1].as<PrimExprNode>();
ObjectRef value = e ? ObjectRef(sch.value(PrimExpr(e))) : in[1];
return annotate(sch.state, sch.place(in[0]), to_string(attrs[0]), value), Values();
}
}
, {"Unannotate", "unannotate", "block_or_loop={i0}, ann_key={a0}",
   RUN{return unannotate(sch.state, sch.place(in[0]), to_string(attrs[0])), Values();
}
}
, {"StorageAlign", "storage_align", "block={i0}, buffer_index={a0}, axis={a1}, factor={a2}, offset={a3}",
   RUN{storage_align(sch.state, sch.block(in[0]), to_int(attrs[0]), to_int(attrs[1]), to_int(attrs[2]),
                     to_int(attrs[3]));
return {};
}
}
, {"SetScope", "set_scope", "block={i0}, buffer_index={a0}, storage_scope={a1}",
   RUN{return set_scope(sch.state, sch.block(in[0]), to_int(attrs[0]), to_string(attrs[1])), Values();
}
}
, {"ComputeInline", "compute_inline", "block={i0}", RUN{return compute_inline(sch.state, sch.block(in[0])), NOTHING;
}
}
, {"ReverseComputeInline", "reverse_compute_inline", "block={i0}",
   RUN{return reverse_compute_inline(sch.state, sch.block(in[0])), NOTHING;
}
}
, {"CacheRead", "cache_read", "block={i0}, read_buffer_index={a0}, storage_scope={a1}{c1}",
   RUN{std::vector<BlockRef> consumers;
for (const ObjectRef& rv : array_of(in[1])) consumers.push_back(sch.block(rv));
return rvs<BlockRef>(sch, {cache_read(sch.state, sch.block(in[0]), to_int(attrs[0]), to_string(attrs[1]), consumers)});
}
}
, {"CacheWrite", "cache_write", "block={i0}, write_buffer_index={a0}, storage_scope={a1}",
   RUN{return rvs<BlockRef>(sch, {cache_write(sch.state, sch.block(in[0]), to_int(attrs[0]), to_string(attrs[1]))});
}
}
, {"ComputeAt", "compute_at", "block={i0}, loop={i1}, preserve_unit_loops={b0}, index={a1}",
   RUN{compute_at(sch.state, sch.block(in[0]), sch.loop(in[1]), to_int(attrs[0]), to_int(attrs[1]));
return {};
}
}
, {"ReverseComputeAt", "reverse_compute_at", "block={i0}, loop={i1}, preserve_unit_loops={b0}, index={a1}",
   RUN{reverse_compute_at(sch.state, sch.block(in[0]), sch.loop(in[1]), to_int(attrs[0]), to_int(attrs[1]));
return {};
}
}
, {"DecomposeReduction", "decompose_reduction", "block={i0}, loop={i1}", RUN{(void)attrs;
return rvs<BlockRef>(sch, {decompose_reduction(sch.state, sch.block(in[0]), sch.loop(in[1]))});
}
}
,
}
;
#undef RUN
#undef NOTHING

}  // namespace

const InstructionRecord& find_instruction(const String& kind) {
  for (const InstructionRecord& record : records)
    if (kind == record.kind) return record;
  throw Error(ValueError) << "there is no schedule instruction " << quoted(kind);
}

}  // namespace tessera::schedule

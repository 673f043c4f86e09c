#include "schedule/trace/instruction.h"

namespace tessera::schedule {
namespace {

using Values = Array<ObjectRef>;
using Call = const InstructionCall&;

template <class R>
Values rvs(Call call, const std::vector<R>& refs) {
  Values out;
  for (const R& ref : refs) out.push_back(call.sch.add(ref));
  return out;
}
Values rv(Call call, const BlockRef& ref) { return {call.sch.add(ref)}; }
Values rv(Call call, const LoopRef& ref) { return {call.sch.add(ref)}; }

Values run_split(Call c) {
  std::vector<PrimExpr> factors;
  for (size_t i = 1; i < c.inputs.size(); ++i)
    factors.push_back(c.inputs[i] ? c.sch.value(downcast<PrimExpr>(c.inputs[i])) : PrimExpr());
  return rvs(c, split(c.state(), c.loop(0), factors, c.number(0)));
}

Values run_annotate(Call c) {
  auto* e = c.inputs[1].as<PrimExprNode>();
  ObjectRef value = e ? ObjectRef(c.sch.value(PrimExpr(e))) : c.inputs[1];
  annotate(c.state(), c.cursor(0), c.text(0), value);
  return {};
}

Values run_cache_read(Call c) {
  std::vector<BlockRef> consumers;
  if (auto* list = c.inputs[1].as<ArrayNode>())
    for (const ObjectRef& item : list->items) consumers.push_back(c.sch.block(item));
  return rv(c, cache_read(c.state(), c.block(0), c.number(0), c.text(1), consumers));
}

/// A loop to move a block to, or the answer of sample_compute_location to leave or to inline it.
Values run_compute_at(Call c) {
  LoopRef loop = c.loop(1);
  if (loop.mark == LoopMark::Inline) compute_inline(c.state(), c.block(0));
  if (loop.mark == LoopMark::None) compute_at(c.state(), c.block(0), loop, c.number(0), c.number(1));
  return {};
}

Values run_reverse_compute_at(Call c) {
  LoopRef loop = c.loop(1);
  if (loop.mark == LoopMark::Inline) reverse_compute_inline(c.state(), c.block(0));
  if (loop.mark == LoopMark::None) reverse_compute_at(c.state(), c.block(0), loop, c.number(0), c.number(1));
  return {};
}

Values run_sample_perfect_tile(Call c) {
  Values out;
  for (int64_t factor : sample_perfect_tile(c.state(), &c.sch.random, c.loop(0), c.number(0), c.number(1), &c.decision))
    out.push_back(c.sch.add(factor));
  return out;
}

Values run_pad_einsum(Call c) {
  std::vector<int> padding;
  for (const PrimExpr& amount : c.numbers(0)) padding.push_back(static_cast<int>(*as_int(amount)));
  pad_einsum(c.state(), c.block(0), padding);
  return {};
}

const InstructionRecord records[] = {
    {"EnterPostproc", "enter_postproc", "", [](Call) { return Values(); }},
    {"SampleCategorical", "sample_categorical", "candidates={a0}, probs={a1}",
     [](Call c) { return Values{c.sch.add(sample_categorical(&c.sch.random, c.list(0), c.list(1), &c.decision))}; }},
    {"SamplePerfectTile", "sample_perfect_tile", "loop={i0}, n={a0}, max_innermost_factor={a1}",
     run_sample_perfect_tile},
    {"SampleComputeLocation", "sample_compute_location", "block={i0}",
     [](Call c) { return rv(c, sample_compute_location(c.state(), &c.sch.random, c.block(0), &c.decision)); }},
    {"GetBlock", "get_block", "name={a0}, func_name={a1}",
     [](Call c) { return rv(c, get_block(c.state(), c.text(0), c.text(1))); }},
    {"GetLoops", "get_loops", "block={i0}", [](Call c) { return rvs(c, get_loops(c.state(), c.block(0))); }},
    {"GetChildBlocks", "get_child_blocks", "{i0}",
     [](Call c) { return rvs(c, get_child_blocks(c.state(), c.cursor(0))); }},
    {"GetProducers", "get_producers", "block={i0}",
     [](Call c) { return rvs(c, get_producers(c.state(), c.block(0))); }},
    {"GetConsumers", "get_consumers", "block={i0}",
     [](Call c) { return rvs(c, get_consumers(c.state(), c.block(0))); }},
    {"Split", "split", "loop={i0}, factors=[{i1:}], preserve_unit_iters={b0}", run_split},
    {"Fuse", "fuse", "{i0:}, preserve_unit_iters={b0}",
     [](Call c) { return rv(c, fuse(c.state(), c.all_loops(), c.number(0))); }},
    {"Reorder", "reorder", "{i0:}", [](Call c) { return reorder(c.state(), c.all_loops()), Values(); }},
    {"AddUnitLoop", "add_unit_loop", "block_or_loop={i0}",
     [](Call c) { return rv(c, add_unit_loop(c.state(), c.cursor(0))); }},
    {"Parallel", "parallel", "loop={i0}", [](Call c) { return parallel(c.state(), c.loop(0)), Values(); }},
    {"Vectorize", "vectorize", "loop={i0}", [](Call c) { return vectorize(c.state(), c.loop(0)), Values(); }},
    {"Unroll", "unroll", "loop={i0}", [](Call c) { return unroll(c.state(), c.loop(0)), Values(); }},
    {"Bind", "bind", "loop={i0}, thread_axis={a0}",
     [](Call c) { return bind(c.state(), c.loop(0), c.text(0)), Values(); }},
    {"Annotate", "annotate", "block_or_loop={i0}, ann_key={a0}, ann_val={i1}", run_annotate},
    {"Unannotate", "unannotate", "block_or_loop={i0}, ann_key={a0}",
     [](Call c) { return unannotate(c.state(), c.cursor(0), c.text(0)), Values(); }},
    {"StorageAlign", "storage_align", "block={i0}, buffer_index={a0}, axis={a1}, factor={a2}, offset={a3}",
     [](Call c) {
       storage_align(c.state(), c.block(0), c.number(0), c.number(1), c.number(2), c.number(3));
       return Values();
     }},
    {"SetScope", "set_scope", "block={i0}, buffer_index={a0}, storage_scope={a1}",
     [](Call c) { return set_scope(c.state(), c.block(0), c.number(0), c.text(1)), Values(); }},
    {"ComputeInline", "compute_inline", "block={i0}",
     [](Call c) { return compute_inline(c.state(), c.block(0)), Values(); }},
    {"ReverseComputeInline", "reverse_compute_inline", "block={i0}",
     [](Call c) { return reverse_compute_inline(c.state(), c.block(0)), Values(); }},
    {"CacheRead", "cache_read", "block={i0}, read_buffer_index={a0}, storage_scope={a1}{c1}", run_cache_read},
    {"CacheWrite", "cache_write", "block={i0}, write_buffer_index={a0}, storage_scope={a1}",
     [](Call c) { return rv(c, cache_write(c.state(), c.block(0), c.number(0), c.text(1))); }},
    {"ComputeAt", "compute_at", "block={i0}, loop={i1}, preserve_unit_loops={b0}, index={a1}", run_compute_at},
    {"ReverseComputeAt", "reverse_compute_at", "block={i0}, loop={i1}, preserve_unit_loops={b0}, index={a1}",
     run_reverse_compute_at},
    {"DecomposeReduction", "decompose_reduction", "block={i0}, loop={i1}",
     [](Call c) { return rv(c, decompose_reduction(c.state(), c.block(0), c.loop(1))); }},
    {"RFactor", "rfactor", "loop={i0}, factor_axis={a0}",
     [](Call c) { return rv(c, rfactor(c.state(), c.loop(0), c.number(0))); }},
    {"ReIndex", "reindex", "block={i0}, buffer={r0}",
     [](Call c) { return rv(c, reindex(c.state(), c.block(0), c.number(0), c.number(1))); }},
    {"TransformLayout", "transform_layout", "block={i0}, buffer={r0}, index_map={m2}, pad_value={m3}",
     [](Call c) {
       transform_layout(c.state(), c.block(0), c.number(0), c.number(1), c.index_map(2), c.index_map(3));
       return Values();
     }},
    {"TransformBlockLayout", "transform_block_layout", "block={i0}, index_map={m0}",
     [](Call c) { return transform_block_layout(c.state(), c.block(0), c.index_map(0)), Values(); }},
    {"SetAxisSeparator", "set_axis_separator", "block={i0}, buffer={r0}, axis_separators={a2}",
     [](Call c) {
       set_axis_separator(c.state(), c.block(0), c.number(0), c.number(1), c.numbers(2));
       return Values();
     }},
    {"PadEinsum", "pad_einsum", "block={i0}, padding={a0}", run_pad_einsum},
    {"DecomposePadding", "decompose_padding", "block={i0}, loop={i1}",
     [](Call c) { return rv(c, decompose_padding(c.state(), c.block(0), c.loop(1))); }},
    {"Blockize", "blockize", "loop={i0}", [](Call c) { return rv(c, blockize(c.state(), c.loop(0))); }},
    {"Tensorize", "tensorize", "block_or_loop={i0}, tensor_intrin={a0}",
     [](Call c) { return tensorize(c.state(), c.cursor(0), c.text(0)), Values(); }},
};

}  // namespace

std::vector<LoopRef> InstructionCall::all_loops() const {
  std::vector<LoopRef> out;
  for (const ObjectRef& rv : inputs) out.push_back(sch.loop(rv));
  return out;
}

int InstructionCall::number(size_t i) const {
  const ObjectRef value = attrs[i];
  auto* number = value.as<IntImm>();
  if (!number) throw Error(TypeError) << "expected an int, got " << to_text(value);
  return static_cast<int>(number->value);
}

Array<PrimExpr> InstructionCall::numbers(size_t i) const {
  const ObjectRef value = attrs[i];
  auto* list = value.as<ArrayNode>();
  if (!list) throw Error(TypeError) << "expected a list of ints, got " << to_text(value);
  Array<PrimExpr> out;
  for (const ObjectRef& item : list->items) {
    if (!item.as<IntImm>()) throw Error(TypeError) << "expected a list of ints, got " << to_text(value);
    out.push_back(downcast<PrimExpr>(item));
  }
  return out;
}

IndexMap InstructionCall::index_map(size_t i) const {
  const ObjectRef value = attrs[i];
  if (value && !value.as<IndexMapNode>()) throw Error(TypeError) << "expected an IndexMap, got " << to_text(value);
  return downcast<IndexMap>(value);
}

String InstructionCall::text(size_t i) const {
  const ObjectRef value = attrs[i];
  if (auto* text = value.as<StringImm>()) return text->value;
  auto* text = value.as<StringNode>();
  if (!text) throw Error(TypeError) << "expected a str, got " << to_text(value);
  return String(text);
}

Array<ObjectRef> InstructionCall::list(size_t i) const {
  const ObjectRef value = attrs[i];
  auto* list = value.as<ArrayNode>();
  if (!list) throw Error(TypeError) << "expected a list, got " << to_text(value);
  return Array<ObjectRef>(list);
}

const InstructionRecord& find_instruction(const String& kind) {
  for (const InstructionRecord& record : records)
    if (kind == record.kind) return record;
  throw Error(ValueError) << "there is no schedule instruction " << quoted(kind);
}

}  // namespace tessera::schedule

#include "kernel/in_place.h"

#include "arith/analyzer.h"
#include "arith/iter_map/iter_map.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/analysis/deep_equal.h"

namespace tessera::kernel {
namespace {

/// A block that is one store, and the loops around it.
struct Writer {
  const BlockRealize* realize;
  const BufferStore* store;
  Map<Var, Range> loops;
};

/// Writers that stand under plain loops and the root block; statements of other kinds are not entered.
void find_writers(const Stmt& stmt, const Map<Var, Range>& loops, std::vector<Writer>* out) {
  if (auto* loop = stmt.as<For>()) {
    Map<Var, Range> inner = loops;
    inner.set(loop->loop_var, make_range(loop->min, loop->extent));
    find_writers(loop->body, inner, out);
  } else if (auto* sequence = stmt.as<SeqStmt>()) {
    for (const Stmt& part : sequence->seq) find_writers(part, loops, out);
  } else if (auto* realize = stmt.as<BlockRealize>()) {
    const Block& block = realize->block;
    auto* store = block->body.as<BufferStore>();
    if (store && !block->init) out->push_back({realize, store, loops});
    else if (block->iter_vars.empty() && !block->init) find_writers(block->body, loops, out);
  }
}

/// True when the indices of the store are the axes of its block, all spatial, each once; a constant stands for an axis
/// of extent one.
bool stores_at_its_axes(const Writer& writer) {
  const Array<IterVar>& axes = writer.realize->block->iter_vars;
  std::vector<bool> is_used(axes.size());
  for (size_t d = 0; d < writer.store->indices.size(); ++d) {
    const PrimExpr& index = writer.store->indices[d];
    bool is_axis = false;
    for (size_t i = 0; i < axes.size() && !is_axis; ++i) {
      is_axis = axes[i]->var.get() == index.get() && !is_used[i];
      if (is_axis) is_used[i] = true;
    }
    const int64_t *constant = as_int(index), *extent = as_int(writer.store->buffer->shape[d]);
    if (!is_axis && !(constant && *constant == 0 && extent && *extent == 1)) return false;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t* extent = as_int(axes[i]->dom->extent);
    if (axes[i]->iter_type != IterType::DataPar || !(is_used[i] || (extent && *extent == 1))) return false;
  }
  return true;
}

/// True when each instance of the block runs once.
bool runs_once(const Writer& writer) {
  if (writer.realize->iter_values.empty()) return writer.loops.empty();
  arith::Analyzer analyzer;
  for (const auto& [var, range] : writer.loops) analyzer.bind(var, range);
  auto found = arith::detect_iter_map(writer.realize->iter_values, writer.loops, writer.realize->predicate,
                                      arith::IterMapLevel::Bijective, &analyzer);
  return found->indices.size() == writer.realize->iter_values.size();
}

bool touches(const Stmt& stmt, const Buffer& buffer) {
  bool found = false;
  auto is_it = [&](const Buffer& other) { return other->data.same_as(buffer->data); };
  walk(
      stmt, [&](const BufferLoad* load) { found |= is_it(load->buffer); },
      [&](const BufferStore* store) { found |= is_it(store->buffer); },
      [&](const VarNode* var) { found |= var == buffer->data.get(); },
      [&](const MatchBufferRegionNode* match) { found |= is_it(match->source->buffer); });
  return found;
}

bool is_dense_like(const Buffer& a, const Buffer& b) {
  auto is_dense = [](const Buffer& x) {
    const int64_t* offset = as_int(x->elem_offset);
    return x->strides.empty() && (!x->elem_offset || (offset && *offset == 0));
  };
  if (!is_dense(a) || !is_dense(b) || a->shape.size() != b->shape.size()) return false;
  if (a->dtype.bits * a->dtype.lanes != b->dtype.bits * b->dtype.lanes) return false;
  for (size_t i = 0; i < a->shape.size(); ++i)
    if (!deep_equal(a->shape[i], b->shape[i])) return false;
  return true;
}

/// True when `store` reads the buffer, and only at the element it stores to.
bool reads_its_element(const BufferStore* store, const Buffer& input) {
  bool reads = false, elsewhere = false;
  auto check = [&](const BufferLoad* load) {
    if (!load->buffer->data.same_as(input->data)) return;
    reads = true;
    bool same = load->indices.size() == store->indices.size();
    for (size_t i = 0; same && i < load->indices.size(); ++i) same = deep_equal(load->indices[i], store->indices[i]);
    elsewhere |= !same;
  };
  walk(store->value, check, [&](const VarNode* var) { elsewhere |= var == input->data.get(); });
  for (const PrimExpr& index : store->indices) walk(index, [&](const BufferLoad*) { elsewhere = true; });
  return reads && !elsewhere;
}

}  // namespace

std::vector<InPlace> find_in_place(const PrimFunc& function) {
  std::vector<Writer> writers;
  find_writers(function->body, {}, &writers);
  std::vector<InPlace> out;
  for (uint32_t o = 0; o < function->params.size(); ++o) {
    Buffer output = function->buffer_map.get_or_null(function->params[o]);
    std::vector<const Writer*> ours;
    for (const Writer& writer : writers)
      if (output && writer.store->buffer.same_as(output)) ours.push_back(&writer);
    if (ours.size() != 1 || !stores_at_its_axes(*ours[0])) continue;
    const BufferStore* store = ours[0]->store;
    std::vector<uint32_t> inputs;
    for (uint32_t i = 0; i < function->params.size(); ++i) {
      Buffer input = function->buffer_map.get_or_null(function->params[i]);
      if (input && i != o && is_dense_like(input, output) && reads_its_element(store, input)) inputs.push_back(i);
    }
    if (inputs.empty() || !runs_once(*ours[0])) continue;
    Stmt rest = rewrite(function->body,
                        [&](const BufferStore* other) -> Stmt { return other == store ? make_nop() : Stmt(other); });
    if (touches(rest, output)) continue;
    for (uint32_t i : inputs)
      if (!touches(rest, function->buffer_map[function->params[i]])) out.push_back({i, o});
  }
  return out;
}

static Globals in_place_globals{
    {"relay.backend.find_in_place",
     [](PrimFunc function) {
       Array<Array<ObjectRef>> out;
       for (InPlace pair : find_in_place(function))
         out.push_back({number_boxes.box_int(pair.input), number_boxes.box_int(pair.output)});
       return out;
     }},
};

}  // namespace tessera::kernel

#include <limits>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/postproc/postprocs.h"

namespace tessera::meta_schedule {
namespace {

struct Wanted {
  int64_t parallel = -1, vectorize = -1, unroll_explicit = -1, unroll_implicit = -1;  // -1: not asked for
  int parallel_loops = -1, vector_loops = -1;                                         // how many, for one block
};

/// By how much the value grows with `var`; 0 where it does not use it, nothing where that is no constant.
std::optional<int64_t> stride_of(const PrimExpr& e, const Var& var) {
  if (e.same_as(var)) return 1;
  if (!uses_var(e, var)) return 0;
  auto sum = [&](const PrimExpr& a, const PrimExpr& b, int sign) -> std::optional<int64_t> {
    auto x = stride_of(a, var), y = stride_of(b, var);
    return x && y ? std::optional(*x + sign * *y) : std::nullopt;
  };
  if (auto* add = e.as<Add>()) return sum(add->a, add->b, 1);
  if (auto* sub = e.as<Sub>()) return sum(sub->a, sub->b, -1);
  if (auto* mul = e.as<Mul>()) {
    auto *left = as_int(mul->a), *right = as_int(mul->b);
    auto inner = left ? stride_of(mul->b, var) : right ? stride_of(mul->a, var) : std::nullopt;
    return inner ? std::optional(*inner * (left ? *left : *right)) : std::nullopt;
  }
  return std::nullopt;
}

/// By how many elements an access moves with each loop; what cannot be told counts as far.
std::vector<int64_t> strides_of(const BufferRegion& access, const Map<Var, PrimExpr>& bindings,
                                const std::vector<const For*>& loops) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  std::vector<PrimExpr> indices;
  arith::Analyzer analyzer;
  for (const Range& range : access->region) indices.push_back(analyzer.simplify(substitute(range->min, bindings)));
  std::vector<int64_t> out;
  for (const For* loop : loops) {
    int64_t stride = 0, below = 1;
    for (size_t i = indices.size(); i-- > 0 && stride == 0;) {
      auto step = stride_of(indices[i], loop->loop_var);
      stride = step ? *step * below : kFar;
      const int64_t* extent = as_int(access->buffer->shape[i]);
      below *= extent ? *extent : kFar;
    }
    out.push_back(stride);
  }
  return out;
}

/// How many innermost loops walk through neighbouring elements of every buffer that the block touches.
int contiguous_loops(const Cursor& block, const std::vector<const For*>& loops) {
  Map<Var, PrimExpr> bindings;
  for (size_t i = 0; i < block.block()->iter_vars.size(); ++i)
    bindings.set(block.block()->iter_vars[i]->var, block.realize()->iter_values[i]);
  int most = static_cast<int>(loops.size());
  auto look = [&](const BufferRegion& access) {
    std::vector<int64_t> strides = strides_of(access, bindings, loops);
    int count = 0;
    int64_t next = 0;  // the stride that continues the run; 0 before its first loop
    for (size_t i = loops.size(); i-- > 0; ++count) {
      if (strides[i] == 0) continue;
      if (next == 0 && strides[i] != 1 && count != 0) break;
      if (next != 0 && strides[i] != next) break;
      auto extent = loop_extent(loops[i]);
      if (!extent) break;
      next = strides[i] * *extent;
    }
    most = std::min(most, count);
  };
  for (const BufferRegion& read : block.block()->reads) look(read);
  for (const BufferRegion& write : block.block()->writes) look(write);
  return most;
}

/// How many outer loops run in parallel and how many inner ones become vectors.
void choose_loops(const Cursor& block, Wanted* wanted) {
  std::vector<const For*> loops = block.loops();
  int count = static_cast<int>(loops.size());
  std::vector<bool> spatial;
  // Loops that a block before has in common with this one may be done already.
  for (const For* loop : loops)
    spatial.push_back(loop->kind == LoopKind::Serial && loop->annotations.empty() &&
                      loop_type(loop, block.function) == IterType::DataPar);
  auto at = [](int i) { return static_cast<size_t>(i); };
  if (wanted->parallel != -1) {
    int64_t extent = 1;
    wanted->parallel_loops = 0;
    for (int i = 0; i < count && spatial[at(i)]; ++i) {
      auto each = loop_extent(loops[at(i)]);
      if (!each) break;
      ++wanted->parallel_loops;
      extent *= *each;
      if (extent > wanted->parallel || loops[at(i)]->body.as<SeqStmt>()) break;
    }
    if (extent == 1) wanted->parallel_loops = -1;
  }
  int fusible = contiguous_loops(block, loops);
  if (wanted->vectorize != -1) {
    int64_t extent = 1;
    wanted->vector_loops = 0;
    for (int i = count - 1; i >= 0 && spatial[at(i)] && wanted->vector_loops < fusible; --i) {
      auto each = loop_extent(loops[at(i)]);
      if (!each || (i + 1 < count && loops[at(i)]->body.as<SeqStmt>())) break;
      extent *= *each;
      if (extent > wanted->vectorize) break;
      ++wanted->vector_loops;
    }
    if (extent == 1 || wanted->vector_loops == 0) wanted->vector_loops = -1;
  }
  bool is_all = fusible == count && wanted->parallel_loops == count && wanted->vector_loops == count;
  if (wanted->parallel_loops != -1 && wanted->vector_loops != -1 && !is_all)
    wanted->parallel_loops = std::min(wanted->parallel_loops, count - wanted->vector_loops);
}

void rewrite_block(const Traced& sch, const RV& block, Wanted wanted) {
  RVs loops = sch.get_loops(block);
  if (loops.empty()) return;
  choose_loops(sch.find(block), &wanted);
  int count = static_cast<int>(loops.size());
  if (wanted.parallel_loops == count && wanted.vector_loops == count) {
    RVs parts = sch.split(sch.fuse(loops), {ObjectRef(), PrimExpr(static_cast<int>(wanted.vectorize))});
    sch.parallel(parts[0]);
    sch.vectorize(parts[1]);
    return;
  }
  if (wanted.parallel_loops > 0) {
    RV fused = sch.fuse(RVs(loops.begin(), loops.begin() + wanted.parallel_loops));
    sch.parallel(fused);
    loops.set(0, fused);
  }
  if (wanted.vector_loops > 0) {
    RV fused = sch.fuse(RVs(loops.end() - wanted.vector_loops, loops.end()));
    sch.vectorize(fused);
    if (wanted.vector_loops == count) loops.set(0, fused);
  }
  if ((wanted.unroll_explicit < 0 && wanted.unroll_implicit < 0) || is_spatial(sch.find(block).block())) return;
  bool is_explicit = wanted.unroll_explicit >= 0;
  int steps = static_cast<int>(is_explicit ? wanted.unroll_explicit : wanted.unroll_implicit);
  if (steps <= 0) return;
  sch.annotate(loops[0], attr::kPragmaAutoUnrollMaxStep, PrimExpr(steps));
  sch.annotate(loops[0], attr::kPragmaUnrollExplicit, PrimExpr(is_explicit ? 1 : 0));
}

}  // namespace

bool RewriteParallelVectorizeUnrollNode::apply(const Schedule& sch) {
  Traced traced(sch);
  for (const Cursor& root : blocks_of_module(sch)) {
    const BlockNode* block = root.block();
    Wanted wanted{int_note(block, note::kParallel).value_or(-1), int_note(block, note::kVectorize).value_or(-1),
                  int_note(block, note::kUnrollExplicit).value_or(-1),
                  int_note(block, note::kUnrollImplicit).value_or(-1)};
    const char* keys[] = {note::kParallel, note::kVectorize, note::kUnrollExplicit, note::kUnrollImplicit};
    bool is_noted = false;
    for (const char* key : keys) is_noted |= has_note(block, key);
    if (!is_root(root) || !is_noted) continue;
    Block before = root.realize()->block;
    RV rv = block_named_as(traced, root);
    for (const char* key : keys)
      if (has_note(before.get(), key)) traced.unannotate(rv, key);
    for (const RV& child : traced.get_child_blocks(rv)) rewrite_block(traced, child, wanted);
  }
  return true;
}

}  // namespace tessera::meta_schedule

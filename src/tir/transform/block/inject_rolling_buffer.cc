// A buffer marked rolling_buffer_scope keeps what the next iteration needs again, instead of computing it anew.
//
//   for i: { realize P[i*s : i*s + e]: { P[i*s + j] = f(i*s + j) for j < e;  use(P) } }
//     =>  realize P[0 : e]: for i: { P[(i*s + j) % e] = f(i*s + j) for j < e where i == 0 or j >= e - s;  use(P) }
//
// The buffer rolls along one axis, with the innermost loop that its region depends on. For functions that come from TE
// schedules, before memory is flat; where nothing overlaps or the region moves in another way, nothing changes.

#include <optional>

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// How a buffer rolls: along which axis, with which loop, how far in each iteration.
struct Roll {
  const For* loop;
  size_t axis;
  PrimExpr min;  // of the region's axis, in terms of the loops
  int64_t extent, overlap;
};

class RollingBuffers {
 public:
  explicit RollingBuffers(const Stmt& body) {
    walk(body, [this](const AttrStmt* op) {
      if (auto* buffer = op->node.as<BufferNode>(); buffer && op->attr_key == attr::kRollingBufferScope)
        marked_.emplace(buffer, std::nullopt);
    });
    rewriter_.share_results(false);
    rewriter_.on([this](const For* op) -> Stmt { return on_loop(op); });
    rewriter_.on([this](const BufferRealize* op) -> Stmt { return on_realize(op); });
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      return op->attr_key == attr::kRollingBufferScope ? rewriter_(op->body) : Stmt(rewriter_.children(op));
    });
    rewriter_.on([this](const BufferLoad* op) -> PrimExpr {
      Ref<BufferLoad> out = rewriter_.children(op);
      const Roll* roll = roll_of(op->buffer);
      return roll ? make_load(op->buffer, wrapped(*roll, out->indices)) : PrimExpr(out);
    });
    rewriter_.on([this](const BufferStore* op) -> Stmt { return on_store(op); });
  }

  bool has_work() const { return !marked_.empty(); }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_loop(const For* op) {
    loops_.push_back(op);
    Stmt out = rewriter_.children(op);
    loops_.pop_back();
    auto moved = moved_.find(op);
    if (moved == moved_.end()) return out;
    for (size_t i = moved->second.size(); i-- > 0;) out = with(moved->second[i], &BufferRealize::body, out);
    return out;
  }

  Stmt on_realize(const BufferRealize* op) {
    auto it = marked_.find(op->buffer.get());
    if (it == marked_.end()) return rewriter_.children(op);
    it->second = find_roll(op);
    if (!it->second) return rewriter_.children(op);
    const Roll& roll = *it->second;
    BufferRealize around(*op);
    DataType dtype = op->bounds[roll.axis]->extent.dtype();
    around.bounds.set(roll.axis, make_range(make_zero(dtype), make_const(dtype, roll.extent)));
    around.body = make_nop();
    moved_[roll.loop].push_back(make(std::move(around)));
    return rewriter_(op->body);
  }

  /// The region moves with the innermost loop it depends on, along one axis, by less than its extent.
  std::optional<Roll> find_roll(const BufferRealize* op) {
    for (size_t at = loops_.size(); at-- > 0;) {
      const For* loop = loops_[at];
      std::optional<size_t> axis;
      for (size_t i = 0; i < op->bounds.size(); ++i) {
        if (uses_var(op->bounds[i]->extent, loop->loop_var)) return std::nullopt;
        if (!uses_var(op->bounds[i]->min, loop->loop_var)) continue;
        if (axis) return std::nullopt;
        axis = i;
      }
      if (!axis) continue;
      const Range& range = op->bounds[*axis];
      Array<PrimExpr> linear = arith::detect_linear_equation(range->min, {loop->loop_var});
      const int64_t *extent = as_int(range->extent), *stride = linear.empty() ? nullptr : as_int(linear[0]);
      if (loop->kind != LoopKind::Serial || !extent || !stride || *stride <= 0 || *stride >= *extent)
        return std::nullopt;
      return Roll{loop, *axis, range->min, *extent, *extent - *stride};
    }
    return std::nullopt;
  }

  const Roll* roll_of(const Buffer& buffer) const {
    auto it = marked_.find(buffer.get());
    return it == marked_.end() || !it->second ? nullptr : &*it->second;
  }

  Array<PrimExpr> wrapped(const Roll& roll, Array<PrimExpr> indices) {
    const PrimExpr& index = indices[roll.axis];
    indices.set(roll.axis, floormod(index, make_const(index.dtype(), roll.extent)));
    return indices;
  }

  /// What the iteration before has stored is there already.
  Stmt on_store(const BufferStore* op) {
    Ref<BufferStore> out = rewriter_.children(op);
    const Roll* roll = roll_of(op->buffer);
    if (!roll) return out;
    const PrimExpr& index = op->indices[roll->axis];
    PrimExpr is_first = equal(roll->loop->loop_var, roll->loop->min);
    PrimExpr is_new = index - roll->min >= make_const(index.dtype(), roll->overlap);
    PrimExpr condition = analyzer_.simplify(logical_or(is_first, is_new));
    Stmt store = with(out, &BufferStore::indices, wrapped(*roll, out->indices));
    return is_one(condition) ? store : make(IfThenElse{.condition = likely(condition), .then_case = store});
  }

  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::vector<const For*> loops_;
  std::unordered_map<const BufferNode*, std::optional<Roll>> marked_;
  std::unordered_map<const For*, std::vector<Ref<BufferRealize>>> moved_;
};

}  // namespace

Stmt inject_rolling_buffer(const Stmt& body) {
  RollingBuffers rolling(body);
  return rolling.has_work() ? rolling(body) : body;
}

}  // namespace tessera

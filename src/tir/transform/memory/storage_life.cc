#include "tir/transform/memory/storage_life.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "arith/analyzer.h"
#include "arith/iter_map/iter_map.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/attrs.h"

namespace tessera {
namespace {

bool begins_owner(const AttrStmt* op) {
  return op->attr_key == attr::kVirtualThread || std::string_view(op->attr_key).substr(0, 7) == attr::kPragmaPrefix;
}

class LifeFinder {
 public:
  LifeFinder() {
    visitor_.share_results(false);
    auto& on = visitor_;
    on.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
    on.on([this](const VarNode* var) -> PrimExpr { return use(var), PrimExpr(var); });
    on.on([this](const BufferLoad* op) -> PrimExpr { return use(op->buffer->data.get()), visitor_.children(op); });
    on.on([this](const BufferStore* op) -> Stmt {
      begin_step(op);
      use(op->buffer->data.get());
      return visitor_.children(op);
    });
    on.on([this](const Evaluate* op) -> Stmt { return begin_step(nullptr), Stmt(visitor_.children(op)); });
    on.on([this](const LetStmt* op) -> Stmt {
      begin_step(nullptr);
      visitor_(op->value);
      bound_.insert(op->var.get());
      return visitor_(op->body), Stmt(op);
    });
    on.on([this](const For* op) -> Stmt {
      bound_.insert(op->loop_var.get());
      return region(op, op->kind == LoopKind::Parallel, [&] { visitor_.children(op); }), Stmt(op);
    });
    on.on([this](const While* op) -> Stmt { return region(op, false, [&] { visitor_.children(op); }), Stmt(op); });
    on.on([this](const IfThenElse* op) -> Stmt { return region(op, false, [&] { visitor_.children(op); }), Stmt(op); });
    on.on([this](const AssertStmt* op) -> Stmt { return region(op, false, [&] { visitor_.children(op); }), Stmt(op); });
    on.on([this](const AttrStmt* op) -> Stmt { return on_attr(op), Stmt(op); });
  }

  Lives run(const Stmt& body) {
    visitor_(body);
    std::vector<Life> lives;
    for (const VarNode* var : order_) lives.push_back(found_.at(var));
    return {lives, steps_};
  }

 private:
  struct Region {
    const Object* statement;
    int depth;
  };

  Stmt on_allocate(const Allocate* op) {
    Life life{op};
    life.owner = owner_;
    life.is_pinned = uses_var(op->extents, [this](const VarNode* var) { return bound_.count(var) > 0; });
    const VarNode* var = op->buffer_var.get();
    bool is_new = found_.emplace(var, life).second;
    ICHECK(is_new) << "buffer " << op->buffer_var->name << " is allocated twice";
    order_.push_back(var);
    depth_[var] = static_cast<int>(regions_.size());
    visitor_(op->extents);
    return visitor_(op->body), Stmt(op);
  }

  void begin_step(const BufferStore* store) {
    steps_.push_back({store});
    ++time_;
  }

  void use(const VarNode* var) {
    auto it = found_.find(var);
    if (it == found_.end()) return;
    // Used inside regions that began after the allocation: alive from the outermost of them to its end.
    size_t depth = static_cast<size_t>(depth_[var]);
    Life& life = it->second;
    int begin = time_;
    if (depth < regions_.size()) {
      begin = regions_[depth];
      touched_[depth].insert(var);
    }
    if (life.first < 0 || begin < life.first) life.first = begin;
    life.last = std::max(life.last, time_);
  }

  template <class F>
  void region(const Object* statement, bool owns, F visit) {
    const Object* outer = owner_;
    if (owns) owner_ = statement;
    size_t at = steps_.size();
    steps_.push_back({nullptr, statement});
    regions_.push_back(++time_);
    touched_.resize(regions_.size());
    touched_.back().clear();
    visit();
    steps_.push_back({});
    steps_[at].end = ++time_;
    for (const VarNode* var : touched_.back()) found_.at(var).last = time_;
    regions_.pop_back();
    touched_.pop_back();
    owner_ = outer;
  }

  void on_attr(const AttrStmt* op) {
    bool begins_launch = op->attr_key == attr::kThreadExtent && !in_launch_;
    if (begins_launch) in_launch_ = true;
    if (begins_launch || begins_owner(op)) region(op, true, [&] { visitor_.children(op); });
    else visitor_.children(op);
    if (begins_launch) in_launch_ = false;
  }

  Rewriter visitor_;
  std::vector<Step> steps_;
  std::unordered_map<const VarNode*, Life> found_;
  std::unordered_map<const VarNode*, int> depth_;  // how many regions were open at the allocation
  std::vector<const VarNode*> order_;
  std::unordered_set<const VarNode*> bound_;                 // by loops and lets
  std::vector<int> regions_;                                 // the time each open region began
  std::vector<std::unordered_set<const VarNode*>> touched_;  // used in that region, allocated just outside it
  const Object* owner_ = nullptr;
  bool in_launch_ = false;
  int time_ = 0;
};

bool reaches_once_by_strides(const PrimExpr& index, const std::vector<const For*>& nest) {
  arith::Analyzer analyzer;
  PrimExpr base = index;
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride and count of each loop
  if (auto* ramp = index.as<Ramp>()) {
    const int64_t* stride = as_int(ramp->stride);
    if (!stride) return false;
    base = ramp->base;
    steps.push_back({*stride, ramp->lanes});
  }
  if (base.dtype().lanes != 1) return false;
  for (const For* loop : nest) {
    PrimExpr next =
        substitute(base, Map<Var, PrimExpr>{{loop->loop_var, loop->loop_var + make_const(loop->loop_var->dtype, 1)}});
    const int64_t *stride = as_int(next = analyzer.simplify(next - base)), *count = as_int(loop->extent);
    if (!stride || !count || loop->kind == LoopKind::ThreadBinding) return false;
    if (*count > 1) steps.push_back({*stride, *count});
  }
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;  // the largest offset of the steps so far
  for (const auto& [stride, count] : steps) {
    if (stride <= reach) return false;
    reach += stride * (count - 1);
  }
  return true;
}

/// True when the loops around the store reach each element once, so that none is read after it was overwritten.
bool reaches_once(const Array<PrimExpr>& indices, const std::vector<const For*>& nest) {
  if (indices.size() == 1 && reaches_once_by_strides(indices[0], nest)) return true;
  Map<Var, Range> loops;
  for (const For* loop : nest) {
    if (loop->kind == LoopKind::ThreadBinding) return false;
    loops.set(loop->loop_var, make_range(loop->min, loop->extent));
  }
  for (const PrimExpr& index : indices)
    if (index.dtype().lanes != 1) return false;
  arith::Analyzer analyzer;
  auto map = arith::detect_iter_map(indices, loops, bool_imm(true), arith::IterMapLevel::Bijective, &analyzer);
  return map->indices.size() == indices.size();
}

}  // namespace

Lives find_lives(const Stmt& body) { return LifeFinder().run(body); }

bool can_be_in_place(const BufferStore* store, const VarNode* target, const VarNode* source) {
  if (store->buffer->data.get() != target) return false;
  bool safe = true;
  pre_order(store->value, [&](const Object* node) {
    if (auto* load = cast_or_null<BufferLoad>(node)) {
      const VarNode* data = load->buffer->data.get();
      if (data == target) safe = false;
      if (data == source) {
        safe = safe && load->dtype == store->value.dtype() && load->indices.size() == store->indices.size();
        for (size_t i = 0; safe && i < load->indices.size(); ++i)
          safe = deep_equal(load->indices[i], store->indices[i]);
      }
    } else if (auto* call = cast_or_null<Call>(node)) {
      if (builtin::effect_of(call) > CallEffect::ReadState) safe = false;
    } else if (node == source) {
      safe = false;
    }
    return safe;
  });
  return safe;
}

bool nest_can_be_in_place(const Object* region, const VarNode* target, const VarNode* source) {
  std::vector<const For*> nest;
  while (auto* loop = cast_or_null<For>(region)) {
    nest.push_back(loop);
    region = loop->body.get();
  }
  auto* store = cast_or_null<BufferStore>(region);
  return store && can_be_in_place(store, target, source) && reaches_once(store->indices, nest);
}

}  // namespace tessera

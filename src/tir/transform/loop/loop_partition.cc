// A loop whose body is guarded by `likely` conditions on its variable is split where they begin to hold and where they
// end, so that the large middle part needs no guard.
//
//   for io in range((n + 31)//32):                    for io in range(n//32):
//     for ii in range(32):                              for ii in range(32): S(io*32 + ii)
//       if likely(io*32 + ii < n): S(io*32 + ii)  =>   for io in range(rest):
//                                                         for ii in range(32):
//                                                           if (n//32 + io)*32 + ii < n: S(...)
//
// A hint above 1 says how many steps the loop inside has that does not always run to its end. What is left over then gets code
// for each number of steps below that, without guards: `if n % 32 == 1: ... else if n % 32 == 2: ...`.
// Loops of constant extent are split only on request (or hinted; there any `if` counts). No `likely` and no hint is left
// afterwards. A program grows at most
// tenfold: where splitting would copy more, loops keep their guards.

#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/convert_ssa.h"
#include "tir/attrs.h"
#include "tir/loops/interval.h"
#include "tir/transform/config.h"
#include "tir/transform/passes.h"
#include "tir/transform/simplify/simplify.h"

namespace tessera {
namespace {

/// The part of a loop in which a condition holds whatever the loops inside do; empty ends mean no bound.
struct Holding {
  PrimExpr low, high;  // both included
};

/// The same statement with loop variables of its own: what is known of the loops of one copy is not true of another's.
Stmt with_own_loops(const Stmt& body) {
  std::unordered_map<const VarNode*, Var> own;
  Rewriter rewriter;
  rewriter.share_results(false);
  rewriter.on([&](const VarNode* var) -> PrimExpr {
    auto it = own.find(var);
    return it == own.end() ? PrimExpr(var) : PrimExpr(it->second);
  });
  rewriter.on([&](Rewriter& self, const For* op) -> Stmt {
    For out(*op);
    out.min = self(op->min);
    out.extent = self(op->extent);
    out.loop_var = own[op->loop_var.get()] = make_var(op->loop_var->name, op->loop_var->dtype);
    out.body = self(op->body);
    return make(std::move(out));
  });
  return rewriter(body);
}

/// likely(a && b)  =>  likely(a) && likely(b): each may hold in another part of a loop.
Stmt with_single_conditions(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const Call* call) -> PrimExpr {
    auto* both = builtin::is(call, builtin::likely()) ? call->args[0].as<And>() : nullptr;
    return both ? logical_and(self(likely(both->a)), self(likely(both->b))) : PrimExpr(self.children(call));
  });
}

/// In a loop that is to be split, every `if` on its variable counts.
Stmt with_likely_conditions(const Stmt& body, const Var& var) {
  return rewrite(body, [&](Rewriter& self, const IfThenElse* op) -> Stmt {
    Ref<IfThenElse> out = self.children(op);
    bool is_marked = is_call(op->condition, "tir.likely") || !uses_var(op->condition, var);
    return is_marked ? Stmt(out) : Stmt(with(out, &IfThenElse::condition, likely(op->condition)));
  });
}

class Partitioner {
 public:
  Partitioner(const PrimFunc& function, const LoopPartitionConfig& options) : options_(options) {
    // What callers pass has no dimension of negative length.
    for (const Map<Var, Buffer>& buffers : {function->preflattened_buffer_map, function->buffer_map})
      for (const auto& [param, buffer] : buffers)
        for (const PrimExpr& extent : buffer->shape)
          if (Var var = downcast_or_null<Var>(extent)) analyzer_.update(var, arith::IntBound{0, arith::kPosInf}, true);
    left_ = std::max<size_t>(kMinToCopy, kMaxGrowth * size_of(function->body));
    rewriter_.share_results(false);
    rewriter_.on([this](const For* op) -> Stmt { return on_loop(op); });
    rewriter_.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
  }

  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_attr(const AttrStmt* op) {
    if (op->attr_key == attr::kPragmaLoopPartitionHint) {
      if (auto* axis = op->node.as<IterVarNode>())
        hinted_[axis->var.get()] = as_int(op->value) ? *as_int(op->value) : 1;
      return rewriter_(op->body);
    }
    auto* axis = op->node.as<IterVarNode>();
    if (!axis || op->attr_key != attr::kThreadExtent) return rewriter_.children(op);
    if (!as_int(op->value))
      if (Stmt split = try_split_launch(op, axis->var)) return split;
    analyzer_.bind(axis->var, make_range(make_zero(op->value.dtype()), op->value), true);
    return rewriter_.children(op);
  }

  Stmt on_loop(const For* op) {
    bool is_hinted = hint_of(op) > 0;
    bool is_constant = as_int(op->min) && as_int(op->extent);
    if (!is_hinted) return split_or_keep(op, !is_constant || options_.partition_const_loop);
    Stmt body = with_likely_conditions(op->body, op->loop_var);
    Stmt hinted = with(op, &For::body, is_constant ? body : with_single_conditions(body));
    return split_or_keep(hinted.as<For>(), true);
  }

  Stmt split_or_keep(const For* op, bool may_split) {
    if (may_split)
      if (Stmt split = try_split(op)) return split;
    analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
    Ref<For> out = rewriter_.children(op);
    bool is_unrolled = options_.unroll_loop_with_partition_hint_no_interval && hint_of(op) > 0;
    return is_unrolled ? Stmt(with(out, &For::kind, LoopKind::Unrolled)) : Stmt(out);
  }

  /// `likely` conditions on the loop's variable, with the ranges of the loops around them inside the body.
  void find_conditions(const Stmt& body, const Var& var) {
    conditions_.clear();
    inner_.clear();
    pre_order(body, [&](const Object* node) {
      if (auto* loop = cast_or_null<For>(node))
        inner_[loop->loop_var.get()] = loops::Interval::of(make_range(loop->min, loop->extent));
      if (auto* attr = cast_or_null<AttrStmt>(node))
        if (auto* axis = attr->node.as<IterVarNode>(); axis && attr->attr_key == attr::kThreadExtent)
          inner_[axis->var.get()] = loops::Interval::of(make_range(make_zero(attr->value.dtype()), attr->value));
      auto* call = cast_or_null<Call>(node);
      if (builtin::is(call, builtin::likely()) && uses_var(call->args[0], var)) conditions_.push_back(call);
      return true;
    });
  }

  bool defines(const Stmt& body, const PrimExpr& e) const {
    return uses_var(e, [&](const VarNode* var) {
      bool inside = false;
      pre_order(body, [&](const Object* node) {
        if (auto* let = cast_or_null<LetStmt>(node)) inside = inside || let->var.get() == var;
        return !inside;
      });
      return inside;
    });
  }

  /// Where `condition` holds for every iteration of the loops inside. False when nothing can be said.
  bool solve(const PrimExpr& condition, const Var& var, Holding* out) {
    if (auto* both = condition.as<And>()) return solve(both->a, var, out) && solve(both->b, var, out);
    if (!uses_var(condition, var)) return false;
    auto* pair = condition.as<BinaryNode>();
    if (!pair || !pair->a.dtype().is_int()) return false;
    PrimExpr e;  // the condition as e <= 0, or e == 0
    PrimExpr one = make_const(pair->a.dtype(), 1);
    bool is_equation = condition.as<EQ>();
    if (condition.as<LT>()) e = pair->a - pair->b + one;
    else if (condition.as<LE>() || is_equation) e = pair->a - pair->b;
    else if (condition.as<GT>()) e = pair->b - pair->a + one;
    else if (condition.as<GE>()) e = pair->b - pair->a;
    else return false;

    // e = factor * var + rest
    PrimExpr step = substitute(e, Map<Var, PrimExpr>{{var, var + one}}) - e;
    const int64_t* factor = as_int(step = analyzer_.simplify(step));
    if (!factor || *factor == 0) return false;
    PrimExpr scale = make_const(var->dtype, *factor);
    PrimExpr rest = analyzer_.simplify(e - scale * var);
    if (uses_var(rest, var)) return false;
    if (is_equation) {  // at one iteration
      if (uses_inner(rest) || (*factor != 1 && *factor != -1)) return false;
      PrimExpr at = analyzer_.simplify(*factor > 0 ? make_zero(var->dtype) - rest : rest);
      out->low = out->low ? max(out->low, at) : at;
      out->high = out->high ? min(out->high, at) : at;
      return true;
    }
    loops::Interval range = loops::eval_interval(rest, inner_, analyzer_);
    if (!range.max || uses_inner(range.max) || uses_var(range.max, var)) return false;
    if (*factor > 0) {
      PrimExpr high = floordiv(make_zero(var->dtype) - range.max, scale);
      out->high = out->high ? min(out->high, high) : high;
    } else {
      PrimExpr size = make_const(var->dtype, -*factor);
      PrimExpr low = floordiv(range.max + size - one, size);
      out->low = out->low ? max(out->low, low) : low;
    }
    return true;
  }

  bool uses_inner(const PrimExpr& e) const {
    return uses_var(e, [this](const VarNode* v) { return inner_.count(v) > 0; });
  }

  using Conditions = std::unordered_set<const Object*>;

  /// Where the conditions on `var` hold, and which of them that is said of.
  Conditions find_holding(const Stmt& body, const Var& var, Holding* holding) {
    find_conditions(body, var);
    Conditions solved;
    for (const Call* call : conditions_) {
      Holding more = *holding;
      if (defines(body, call->args[0]) || !solve(call->args[0], var, &more)) continue;
      *holding = more;
      solved.insert(call);
    }
    return solved;
  }

  /// Blocks of a launch that need no guard take a branch of their own, inside all threads.
  Stmt try_split_launch(const AttrStmt* op, const Var& var) {
    Holding holding;
    Conditions solved = find_holding(op->body, var, &holding);
    if (solved.empty() || holding.low || !holding.high) return nullptr;
    PrimExpr limit = analyzer_.simplify(holding.high + make_const(var->dtype, 1));
    return with(op, &AttrStmt::body, inside_threads(op->body, var < limit, solved));
  }

  static Stmt inside_threads(const Stmt& body, const PrimExpr& unguarded, const Conditions& conditions) {
    auto* attr = body.as<AttrStmt>();
    if (attr && attr->attr_key == attr::kThreadExtent)
      return with(attr, &AttrStmt::body, inside_threads(attr->body, unguarded, conditions));
    return make(IfThenElse{.condition = unguarded, .then_case = hold(body, conditions), .else_case = body});
  }

  /// The loop in up to three parts, or an empty statement when there is nothing to gain.
  Stmt try_split(const For* op) {
    Holding holding;
    Conditions solved = find_holding(op->body, op->loop_var, &holding);
    if (solved.empty()) return nullptr;

    PrimExpr one = make_const(op->loop_var->dtype, 1);
    PrimExpr begin = op->min, end = analyzer_.simplify(op->min + op->extent);
    PrimExpr low = begin, high = end;
    if (holding.low) low = analyzer_.simplify(holding.low);
    if (holding.high) high = analyzer_.simplify(holding.high + one);
    // Ends that lie outside the loop stay at the loop's.
    bool has_before = holding.low && !analyzer_.can_prove(low <= begin);
    bool has_after = holding.high && !analyzer_.can_prove(high >= end);
    if (!has_before) low = begin;
    if (!has_after) high = end;
    if (analyzer_.can_prove(high <= low)) return nullptr;
    // Where the order of symbolic ends is not known, begin <= low <= high <= end is made to hold.
    if (has_before && !analyzer_.can_prove(low >= begin)) low = max(low, begin);
    if (has_before && !analyzer_.can_prove(low <= end)) low = min(low, end);
    if (has_after && !analyzer_.can_prove(high <= end)) high = min(high, end);
    if (has_after && !analyzer_.can_prove(low <= high)) high = max(low, high);

    std::vector<Counted> counted;
    if (has_after && !as_int(end)) counted = count_steps(solved, op);
    const size_t afters = counted.empty() ? size_t{has_after} : static_cast<size_t>(hint_of(op) - 1);
    size_t copied = size_of(op->body) * (size_t{has_before} + afters);
    if (copied > left_) return nullptr;
    left_ -= copied;
    std::vector<Stmt> parts;
    if (has_before) parts.push_back(part(op, with_own_loops(op->body), begin, low, false));
    parts.push_back(part(op, hold(op->body, solved), low, high, true));
    if (has_after) {
      Stmt body = counted.empty() ? with_own_loops(op->body) : by_count(op->body, counted, hint_of(op));
      parts.push_back(part(op, body, high, end, false));
    }
    return sequence(parts);
  }

  static Stmt hold(const Stmt& body, const Conditions& conditions) {
    return rewrite(body, [&](Rewriter& self, const Call* call) -> PrimExpr {
      return conditions.count(call) ? bool_imm(true) : PrimExpr(self.children(call));
    });
  }

  /// A condition that is the same as `step < left`, where `step` counts the iterations of a loop inside.
  struct Counted {
    const Call* condition;
    PrimExpr step, left;
  };

  /// 0 where there is none.
  int64_t hint_of(const For* op) const {
    if (auto it = hinted_.find(op->loop_var.get()); it != hinted_.end()) return it->second;
    ObjectRef hint = op->annotations.get_or_null(attr::kPragmaLoopPartitionHint);
    if (!hint) return 0;
    return hint.as<IntImm>() ? hint.as<IntImm>()->value : 1;
  }

  /// All conditions as such, for the same number of steps left and loops of as many steps as the hint says; else nothing.
  std::vector<Counted> count_steps(const Conditions& solved, const For* op) {
    if (hint_of(op) < 2) return {};
    std::vector<Counted> out;
    for (const Call* call : conditions_) {
      if (!solved.count(call)) continue;
      auto* less = call->args[0].as<LT>();
      if (!less) return {};
      Counted one{call, {}, {}};
      walk(less->a, [&](const VarNode* var) {
        if (inner_.count(var)) one.step = PrimExpr(var);
      });
      auto* step = one.step.as<VarNode>();
      if (!step) return {};
      const loops::Interval& range = inner_[step];
      if (!range.min || !range.max || !is_zero(range.min) || !is_const_int(range.max, hint_of(op) - 1)) return {};
      one.left = analyzer_.simplify(less->b - less->a + one.step);
      if (uses_inner(one.left) || (!out.empty() && !analyzer_.can_prove_equal(one.left, out[0].left))) return {};
      out.push_back(one);
    }
    return out;
  }

  /// if left == 1: body(1) else if left == 2: body(2) ...: bodies in which each condition is decided by the step alone.
  static Stmt by_count(const Stmt& body, const std::vector<Counted>& counted, int64_t steps) {
    Stmt out;
    for (int64_t count = steps - 1; count > 0; --count) {
      std::unordered_map<const Object*, PrimExpr> decided;
      for (const Counted& one : counted) decided[one.condition] = one.step < make_const(one.step.dtype(), count);
      Stmt exact = rewrite(body, [&](Rewriter& self, const Call* call) -> PrimExpr {
        auto it = decided.find(call);
        return it == decided.end() ? PrimExpr(self.children(call)) : it->second;
      });
      PrimExpr left = counted[0].left;
      out = make(IfThenElse{.condition = equal(left, make_const(left.dtype(), count)),
                            .then_case = with_own_loops(exact),
                            .else_case = out});
    }
    return out;
  }

  /// The loop over [begin, end), moved to begin at zero. The loops inside are split in turn, except in the ends of
  /// symbolic loops: they are short, and code would double with each dimension.
  Stmt part(const For* op, const Stmt& body, const PrimExpr& begin, const PrimExpr& end, bool is_middle) {
    PrimExpr extent = analyzer_.simplify(end - begin);
    Stmt moved = body;
    if (is_one(extent) && !options_.no_unroll_loop_with_extent_one && op->kind != LoopKind::ThreadBinding) {
      moved = substitute(body, Map<Var, PrimExpr>{{op->loop_var, begin}});
      return rewriter_(moved);
    }
    For out(*op);
    if (!is_zero(begin)) {
      Var var = make_var(op->loop_var->name, op->loop_var->dtype);
      out.loop_var = var;
      moved = substitute(body, Map<Var, PrimExpr>{{op->loop_var, var + begin}});
    }
    out.min = make_zero(op->loop_var->dtype);
    out.extent = extent;
    analyzer_.bind(out.loop_var, make_range(out.min, out.extent), true);
    out.body = is_middle || as_int(extent) ? rewriter_(moved) : moved;
    return make(std::move(out));
  }

  static constexpr size_t kMaxGrowth = 9, kMinToCopy = 4000;  // nodes
  static size_t size_of(const Stmt& body) {
    size_t count = 0;
    pre_order(body, [&](const Object*) { return ++count > 0; });
    return count;
  }

  LoopPartitionConfig options_;
  size_t left_;  // nodes that may still be copied
  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, int64_t> hinted_;
  std::vector<const Call*> conditions_;
  loops::VarIntervals inner_;
};

}  // namespace

PrimFunc loop_partition(const PrimFunc& function, const PassContext& context) {
  Stmt body = Partitioner(function, *context.options<LoopPartitionConfig>("tir.LoopPartition"))(function->body);
  body = rewrite(
      body,
      [](Rewriter& self, const Call* call) -> PrimExpr {
        return builtin::is(call, builtin::likely()) ? self(call->args[0]) : PrimExpr(self.children(call));
      },
      [](Rewriter& self, const For* op) -> Stmt {
        Ref<For> loop = self.children(op);
        if (!op->annotations.count(attr::kPragmaLoopPartitionHint)) return loop;
        For out(*loop.get());
        out.annotations.erase(attr::kPragmaLoopPartitionHint);
        return make(std::move(out));
      });
  return body.same_as(function->body) ? function : with_body(function, convert_ssa(body));
}

}  // namespace tessera

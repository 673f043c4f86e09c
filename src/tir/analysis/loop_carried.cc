#include "tir/analysis/loop_carried.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/interval.h"

namespace tessera {
namespace {

/// A block that touches a buffer, and the loops and blocks around it, outermost first.
struct Use {
  std::vector<const StmtNode*> path;
  Map<Var, PrimExpr> axes;  // what the axes of the blocks around stand for
  Array<BufferRegion> reads, writes;
};

class UseCollector {
 public:
  explicit UseCollector(const AccessScopes& access) {
    for (const Buffer& buffer : access.allocated) uses[buffer->data.get()];
    visitor_.share_results(false);
    visitor_.on([this](const PrimExprNode* e) -> PrimExpr { return PrimExpr(e); });
    visitor_.on([this](const For* op) -> Stmt {
      path_.push_back(op);
      visitor_(op->body);
      path_.pop_back();
      return Stmt(op);
    });
    visitor_.on([this](const BlockRealize* op) -> Stmt { return on_realize(op), Stmt(op); });
  }
  void run(const Stmt& body) { visitor_(body); }

  std::unordered_map<const VarNode*, std::vector<Use>> uses;  // by data pointer, in the order of the program

 private:
  void on_realize(const BlockRealize* op) {
    const BlockNode* block = op->block.get();
    Map<Var, PrimExpr> outer = axes_;
    for (size_t i = 0; i < op->iter_values.size(); ++i)
      axes_.set(block->iter_vars[i]->var, substitute(op->iter_values[i], outer));
    bool is_leaf = true;  // blocks around others state what those touch
    pre_order(block->body, [&](const Object* node) { return is_leaf = is_leaf && !node->is_a(BlockRealize::info); });
    path_.push_back(block);
    if (is_leaf) note(block);
    visitor_(block->body);
    path_.pop_back();
    axes_ = outer;
  }

  void note(const BlockNode* block) {
    std::unordered_map<const VarNode*, Use> here;
    auto add = [&](const Array<BufferRegion>& regions, Array<BufferRegion> Use::* list) {
      for (const BufferRegion& region : regions)
        if (uses.count(region->buffer->data.get())) (here[region->buffer->data.get()].*list).push_back(region);
    };
    add(block->reads, &Use::reads);
    add(block->writes, &Use::writes);
    for (auto& [memory, use] : here) {
      use.path = path_;
      use.axes = axes_;
      uses[memory].push_back(std::move(use));
    }
  }

  Rewriter visitor_;
  std::vector<const StmtNode*> path_;
  Map<Var, PrimExpr> axes_;
};

using loops::Box;

/// What the regions of a use cover in one iteration of the loop at `depth` of its path; empty where it has none.
Box box_of(const Use& use, const Array<BufferRegion>& regions, size_t depth, arith::Analyzer& analyzer) {
  loops::VarIntervals inner;
  for (size_t i = depth + 1; i < use.path.size(); ++i)
    if (auto* loop = cast_or_null<For>(use.path[i]))
      inner[loop->loop_var.get()] = loops::Interval::of(make_range(loop->min, loop->extent));
  Box out;
  for (const BufferRegion& region : regions) {
    Box here;
    for (const Range& range : region->region) {
      PrimExpr first = substitute(range->min, use.axes), last = substitute(range->min + range->extent - 1, use.axes);
      here.push_back(loops::hull(loops::eval_interval(first, inner, analyzer),
                                 loops::eval_interval(last, inner, analyzer), analyzer));
    }
    loops::widen(&out, here, analyzer);
  }
  return out;
}

/// True when an iteration of the loop at `depth` is seen to read what it did not write.
bool carries(const std::vector<Use>& uses, size_t depth) {
  if (uses[0].writes.empty()) return true;  // read before it is written
  arith::Analyzer analyzer;
  for (size_t i = 0; i <= depth; ++i)
    if (auto* loop = cast_or_null<For>(uses[0].path[i]))
      analyzer.bind(loop->loop_var, make_range(loop->min, loop->extent), true);
  Box written;
  for (const Use& use : uses) loops::widen(&written, box_of(use, use.writes, depth, analyzer), analyzer);
  for (const Use& use : uses) {
    Box read = box_of(use, use.reads, depth, analyzer);
    for (size_t i = 0; i < read.size() && i < written.size(); ++i) {
      if (!read[i].is_bounded() || !written[i].is_bounded()) continue;
      if (analyzer.can_prove(read[i].min < written[i].min) || analyzer.can_prove(read[i].max > written[i].max))
        return true;
    }
  }
  return false;
}

}  // namespace

void move_out_of_carrying_loops(const Stmt& body, AccessScopes* access) {
  UseCollector collector(*access);
  collector.run(body);
  for (const auto& [memory, uses] : collector.uses) {
    auto scope = access->scopes.find(memory);
    if (uses.empty() || scope == access->scopes.end() || !scope->second) continue;
    const std::vector<const StmtNode*>& path = uses[0].path;
    for (size_t depth = 1; depth < path.size() && path[depth - 1] != scope->second; ++depth) {
      auto* loop = cast_or_null<For>(path[depth]);
      bool is_serial = loop && (loop->kind == LoopKind::Serial || loop->kind == LoopKind::Unrolled);
      if (!is_serial || !carries(uses, depth)) continue;
      scope->second = path[depth - 1];
      break;
    }
  }
}

}  // namespace tessera

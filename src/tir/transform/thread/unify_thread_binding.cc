// Loops bound to the same thread inside one launch become one launch dimension.
//
//   for i in bind(blockIdx.x): { for j in bind(threadIdx.x): S; for k in bind(threadIdx.x): T }
//     => for blockIdx.x in bind, threadIdx.x in bind: { S[j := threadIdx.x]; T[k := threadIdx.x] }
//
// Loops of one tag need equal extents. Virtual threads stay loops.

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool is_launch_tag(const String& tag) {
  std::string_view text = tag;
  return text.substr(0, 8) == "blockIdx" || text.substr(0, 9) == "threadIdx";
}

class BindingUnifier {
 public:
  BindingUnifier() {
    rewriter_.share_results(false);
    rewriter_.on([this](const For* op) -> Stmt { return on_loop(op); });
    rewriter_.on([this](const VarNode* var) -> PrimExpr {
      auto it = values_.find(var);
      return it == values_.end() ? PrimExpr(var) : it->second;
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  struct Launch {
    String tag;
    Var var;
    PrimExpr extent;
    IterVar binding;
  };

  Stmt on_loop(const For* op) {
    if (op->kind != LoopKind::ThreadBinding || !is_launch_tag(op->thread_binding->thread_tag))
      return rewriter_.children(op);
    bool is_outermost = launches_.empty();
    values_[op->loop_var.get()] = cast(op->loop_var->dtype, axis_of(op)) + rewriter_(op->min);
    Stmt body = rewriter_(op->body);
    if (!op->annotations.empty()) {
      for (const auto& [key, value] : op->annotations)
        if (PrimExpr amount = downcast_or_null<PrimExpr>(value))
          body = make(AttrStmt{.node = int_imm(DataType::Int(32), 0), .attr_key = key, .value = amount, .body = body});
    }
    if (!is_outermost) return body;
    for (size_t i = launches_.size(); i-- > 0;) {
      const Launch& launch = launches_[i];
      body = make(For{.loop_var = launch.var,
                      .min = make_zero(launch.var->dtype),
                      .extent = launch.extent,
                      .kind = LoopKind::ThreadBinding,
                      .body = body,
                      .thread_binding = launch.binding});
    }
    launches_.clear();
    return body;
  }

  PrimExpr axis_of(const For* op) {
    String tag = op->thread_binding->thread_tag;
    PrimExpr extent = rewriter_(op->extent);
    for (const Launch& launch : launches_) {
      if (!(launch.tag == tag)) continue;
      if (!arith::Analyzer().can_prove_equal(launch.extent, cast(launch.extent.dtype(), extent)))
        throw Error(ValueError) << "loops bound to " << tag
                                << " in one launch have different extents: " << launch.extent << " and " << extent
                                << " (loop " << op->loop_var->name << ")";
      return launch.var;
    }
    launches_.push_back({tag, make_var(tag, op->loop_var->dtype), extent, op->thread_binding});
    return launches_.back().var;
  }

  Rewriter rewriter_;
  std::vector<Launch> launches_;
  std::unordered_map<const VarNode*, PrimExpr> values_;
};

}  // namespace

PrimFunc unify_thread_binding(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, BindingUnifier()(function->body));
}

}  // namespace tessera

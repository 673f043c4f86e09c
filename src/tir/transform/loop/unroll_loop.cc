// Loops marked unrolled, and small enough serial ones, become copies of their body.
//
//   for i in unroll(2): A[i] = i      =>      A[0] = 0; A[1] = 1

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/convert_ssa.h"
#include "tir/attrs.h"
#include "tir/transform/config.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// What lies below a statement, once unrolled: stores, unrolled loops one in another, loops left as loops.
struct Counts {
  int64_t steps = 0;
  int unrolled_depth = 0, loop_depth = 0;
};

class Unroller {
 public:
  explicit Unroller(const UnrollLoopConfig& options) : options_(options) {
    rewriter_.share_results(false);
    rewriter_.on([this](const AttrStmt* attr) -> Stmt { return on_attr(attr); });
    rewriter_.on([this](const For* loop) -> Stmt { return on_loop(loop); });
    rewriter_.on([this](const SeqStmt* seq) -> Stmt { return on_sequence(seq); });
    rewriter_.on([this](const BufferStore* store) -> Stmt {
      ++counts_.steps;
      return Stmt(store);
    });
    rewriter_.on([this](const Evaluate* evaluate) -> Stmt {
      ++counts_.steps;
      return Stmt(evaluate);
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_attr(const AttrStmt* attr) {
    UnrollLoopConfig outer = options_;
    if (attr->attr_key == attr::kPragmaAutoUnrollMaxStep) {
      options_.auto_max_step = static_cast<int>(*as_int(attr->value));
    } else if (attr->attr_key == attr::kPragmaUnrollExplicit) {
      options_.explicit_unroll = *as_int(attr->value) != 0;
    } else {
      return rewriter_.children(attr);
    }
    Stmt body = rewriter_(attr->body);
    options_ = outer;
    return body;
  }

  Stmt on_loop(const For* loop) {
    Ref<For> inner = rewriter_.children(loop);
    const int64_t* constant = as_int(loop->extent);
    int64_t extent = constant ? *constant : -1;
    bool is_marked = loop->kind == LoopKind::Unrolled;
    if (is_marked && extent < 0)
      throw Error(ValueError) << "cannot unroll loop " << loop->loop_var->name << ": its extent " << loop->extent
                              << " is not a constant";
    bool is_small =
        extent >= 0 && (extent * counts_.steps <= options_.auto_max_step || extent <= options_.auto_max_extent);
    bool unroll = is_marked || (loop->kind == LoopKind::Serial && is_small && counts_.loop_depth == 0 &&
                                counts_.unrolled_depth <= options_.auto_max_depth);
    if (unroll) {
      counts_.steps *= extent;
      ++counts_.unrolled_depth;
    } else {
      ++counts_.loop_depth;
    }
    bool is_trivial = extent >= 0 && extent <= options_.auto_max_extent && options_.auto_max_extent == 1;
    if ((unroll && options_.explicit_unroll) || is_trivial) return copies(inner, extent);
    return unroll ? with(inner, &For::kind, LoopKind::Unrolled) : inner;
  }

  Stmt on_sequence(const SeqStmt* seq) {
    std::vector<Stmt> out;
    Counts all = counts_;
    for (const Stmt& part : seq->seq) {
      counts_ = {};
      out.push_back(rewriter_(part));
      all.steps += counts_.steps;
      all.unrolled_depth = std::max(all.unrolled_depth, counts_.unrolled_depth);
      all.loop_depth = std::max(all.loop_depth, counts_.loop_depth);
    }
    counts_ = all;
    return sequence(out);
  }

  static Stmt copies(const Ref<For>& loop, int64_t extent) {
    std::vector<Stmt> out;
    for (int64_t i = 0; i < extent; ++i) {
      PrimExpr value = loop->min + make_const(loop->loop_var->dtype, i);
      out.push_back(substitute(loop->body, Map<Var, PrimExpr>{{loop->loop_var, value}}));
    }
    return sequence(out);
  }

  Rewriter rewriter_;
  UnrollLoopConfig options_;
  Counts counts_;
};

}  // namespace

PrimFunc unroll_loop(const PrimFunc& function, const PassContext& context) {
  Stmt body = Unroller(*context.options<UnrollLoopConfig>("tir.UnrollLoop"))(function->body);
  return body.same_as(function->body) ? function : with_body(function, convert_ssa(body));
}

}  // namespace tessera

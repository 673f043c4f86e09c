// Blocks lose their own iteration variables: the values they are bound to are put in.

#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class OpaqueConverter {
 public:
  OpaqueConverter() {
    rewriter_.share_results(false);
    rewriter_.on([this](const VarNode* var) -> PrimExpr {
      auto it = values_.find(var);
      return it == values_.end() ? PrimExpr(var) : it->second;
    });
    rewriter_.on([this](const BlockRealize* op) -> Stmt { return on_realize(op); });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_realize(const BlockRealize* op) {
    const Block& block = op->block;
    if (block->init)
      throw Error(ValueError) << "block " << block->name_hint << " has an init; run LowerInitBlock first";
    ICHECK(block->iter_vars.size() == op->iter_values.size()) << "block " << block->name_hint;
    Array<PrimExpr> values = rewriter_(op->iter_values);
    BlockRealize out(*op);
    for (size_t i = 0; i < values.size(); ++i) values_[block->iter_vars[i]->var.get()] = values[i];
    out.predicate = rewriter_(op->predicate);
    BlockNode opaque(*rewriter_.children(block.get()).get());
    opaque.iter_vars = {};
    out.iter_values = {};
    out.block = make(std::move(opaque));
    return make(std::move(out));
  }

  Rewriter rewriter_;
  std::unordered_map<const VarNode*, PrimExpr> values_;
};

}  // namespace

PrimFunc convert_blocks_to_opaque(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, OpaqueConverter()(function->body));
}

}  // namespace tessera

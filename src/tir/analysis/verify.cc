// Rules that every function keeps: one place of definition for each variable, definitions before uses, types that agree.

#include <unordered_map>
#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/analysis/var_use.h"
#include "tir/analysis/verify.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// The variables a function defines besides those in its body: parameters, and what its buffers are described with.
std::vector<Var> parameter_vars(const PrimFunc& function) {
  std::vector<Var> out(function->params.begin(), function->params.end());
  auto add = [&](const PrimExpr& e) {
    if (!e) return;
    walk(e, [&](const VarNode* var) { out.push_back(Var(var)); });
  };
  for (const Map<Var, Buffer>& buffers : {function->preflattened_buffer_map, function->buffer_map}) {
    for (const auto& [param, buffer] : buffers) {
      add(buffer->data);
      for (const PrimExpr& e : buffer->shape) add(e);
      for (const PrimExpr& e : buffer->strides) add(e);
      add(buffer->elem_offset);
    }
  }
  return out;
}

bool is_single_assignment(const PrimFunc& function) {
  std::unordered_set<const VarNode*> defined;
  bool single = true;
  auto define = [&](const Var& var) { single = single && defined.insert(var.get()).second; };
  for (const Var& param : function->params) define(param);
  Rewriter visitor;  // every occurrence counts, so results are not shared
  visitor.share_results(false);
  visitor.on([&](Rewriter& self, const LetStmt* op) -> Stmt { return define(op->var), self.children(op); });
  visitor.on([&](Rewriter& self, const Let* op) -> PrimExpr { return define(op->var), self.children(op); });
  visitor.on([&](Rewriter& self, const For* op) -> Stmt { return define(op->loop_var), self.children(op); });
  visitor.on([&](Rewriter& self, const Allocate* op) -> Stmt { return define(op->buffer_var), self.children(op); });
  visitor(function->body);
  return single;
}

/// A loop variable of outside in a block that binds axes of its own: what the block does must depend on those alone.
std::string outer_loop_in_block(const PrimFunc& function) {
  std::string wrong;
  std::unordered_map<const VarNode*, size_t> depth_of_loop;
  std::vector<const BlockNode*> blocks;
  Rewriter visitor;
  visitor.share_results(false);
  visitor.on([&](Rewriter& self, const For* op) -> Stmt {
    depth_of_loop[op->loop_var.get()] = blocks.size();
    return self.children(op);
  });
  visitor.on([&](Rewriter& self, const BlockNode* op) -> Stmt {
    if (op->iter_vars.empty()) return self.children(op);
    blocks.push_back(op);
    Stmt out = self.children(op);
    blocks.pop_back();
    return out;
  });
  visitor.on([&](const VarNode* var) -> PrimExpr {
    auto it = depth_of_loop.find(var);
    if (it != depth_of_loop.end() && it->second < blocks.size() && wrong.empty())
      wrong = "loop variable " + var->name.str() + " is defined outside of block " + quoted(blocks.back()->name_hint) +
              ", but used in it instead of its axes";
    return PrimExpr(var);
  });
  visitor(function->body);
  return wrong;
}

std::string wrong_types(const PrimFunc& function, bool is_lowered) {
  std::string wrong;
  auto note = [&](const ObjectRef& where, const std::string& what) {
    if (wrong.empty()) wrong = what + " in " + to_text(where);
  };
  walk(
      function->body,
      [&](const BinaryNode* op) {
        if (op->a.dtype() != op->b.dtype())
          note(PrimExpr(op), "operands of types " + op->a.dtype().str() + " and " + op->b.dtype().str());
      },
      [&](const Select* op) {
        if (op->true_value.dtype() != op->false_value.dtype() || op->true_value.dtype() != op->dtype)
          note(PrimExpr(op), "branches of different types");
      },
      [&](const BufferStore* op) {
        int lanes = op->buffer->dtype.lanes * (op->indices.empty() ? 1 : op->indices.back().dtype().lanes);
        DataType wanted = op->buffer->dtype.with_lanes(lanes);
        if (is_lowered ? op->value.dtype() != wanted : op->value.dtype().lanes != lanes)
          note(Stmt(op), "a value of type " + op->value.dtype().str() + " stored where " + wanted.str() + " is kept");
        if (op->indices.size() != op->buffer->shape.size()) note(Stmt(op), "a wrong number of indices");
      },
      [&](const BufferLoad* op) {
        if (op->indices.size() != op->buffer->shape.size()) note(PrimExpr(op), "a wrong number of indices");
      },
      [&](const LetStmt* op) {
        if (op->var->dtype != op->value.dtype()) note(op->var, "a let of type " + op->value.dtype().str());
      },
      [&](const For* op) {
        if (op->min.dtype() != op->loop_var->dtype || op->extent.dtype() != op->loop_var->dtype)
          note(op->loop_var, "loop bounds of types " + op->min.dtype().str() + " and " + op->extent.dtype().str());
      });
  return wrong;
}

std::string undefined_variable(const PrimFunc& function) {
  for (const Var& var : find_var_use(function->body, parameter_vars(function)).undefined)
    return "variable " + var->name.str() + " is used but not defined";
  return "";
}

static Globals verify_globals{
    {"tir.analysis.verify_ssa", is_single_assignment},
    {"tir.analysis.VerifyWellFormed",
     [](PrimFunc function, bool assert_mode) {
       std::string problem = undefined_variable(function);
       if (problem.empty()) problem = outer_loop_in_block(function);
       if (problem.empty()) problem = wrong_types(function, false);
       if (!problem.empty() && assert_mode) throw Error(ValueError) << "the function is not well formed: " << problem;
       return problem.empty();
     }},
};

}  // namespace

PrimFunc verify_ssa(const PrimFunc& function) {
  if (!is_single_assignment(function))
    throw Error(ValueError) << "VerifySSA: a variable is defined in more than one place";
  return function;
}

std::string ill_formed(const PrimFunc& function) {
  std::string problem = undefined_variable(function);
  return problem.empty() ? wrong_types(function, true) : problem;
}

}  // namespace tessera

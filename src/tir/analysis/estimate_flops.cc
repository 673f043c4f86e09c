// How many operations on numbers a program does: what tuners compare programs by.

#include "base/stack.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/function.h"

namespace tessera {
namespace {

/// Operations of one evaluation. Computing where an element lies is not counted, nor are loads, constants, casts, and
/// comparisons with what they compare; a vector operation counts for each lane; of two ways the longer one is taken.
class Counter {
 public:
  double operator()(const PrimExpr& e) {
    if (!e) return 0;
    return on_enough_stack([&] { return count(e); });
  }

  double operator()(const Stmt& stmt) {
    if (!stmt) return 0;
    return on_enough_stack([&] { return count(stmt); });
  }

 private:
  double count(const PrimExpr& e) {
    double lanes = e.dtype().lanes;
    if (auto* op = e.as<BinaryNode>(); op && e.dtype().element().is_bool())
      return e.as<And>() || e.as<Or>() ? (*this)(op->a) + (*this)(op->b) : 0;
    if (auto* op = e.as<BinaryNode>()) return lanes + (*this)(op->a) + (*this)(op->b);
    if (auto* op = e.as<Not>()) return (*this)(op->a);
    if (auto* op = e.as<Cast>()) return (*this)(op->value);
    if (auto* op = e.as<Select>())
      return (*this)(op->condition) + std::max((*this)(op->true_value), (*this)(op->false_value));
    if (auto* op = e.as<Let>()) return (*this)(op->value) + (*this)(op->body);
    if (auto* op = e.as<Broadcast>()) return (*this)(op->value);
    if (auto* op = e.as<Shuffle>()) return sum(op->vectors);
    if (auto* op = e.as<Call>()) {
      if (is_call(op, "tir.if_then_else"))
        return (*this)(op->args[0]) + std::max((*this)(op->args[1]), (*this)(op->args[2]));
      return sum(op->args);
    }
    return 0;
  }

  double count(const Stmt& stmt) {
    if (auto* op = stmt.as<BufferStore>()) return (*this)(op->value);
    if (auto* op = stmt.as<Evaluate>()) return (*this)(op->value);
    if (auto* op = stmt.as<For>()) {
      const int64_t* extent = as_int(op->extent);
      if (!extent)
        throw Error(ValueError) << "estimate_tir_flops: loop " << op->loop_var->name << " runs " << op->extent
                                << " times, which is no number; specialise the program first";
      return static_cast<double>(std::max<int64_t>(*extent, 0)) * (*this)(op->body);
    }
    if (auto* op = stmt.as<SeqStmt>()) {
      double total = 0;
      for (const Stmt& part : op->seq) total += (*this)(part);
      return total;
    }
    if (auto* op = stmt.as<IfThenElse>())
      return (*this)(op->condition) + std::max((*this)(op->then_case), (*this)(op->else_case));
    if (auto* op = stmt.as<BlockRealize>()) return (*this)(op->block->body);
    if (auto* op = stmt.as<BlockNode>()) return (*this)(op->body);
    if (auto* op = stmt.as<LetStmt>()) return (*this)(op->value) + (*this)(op->body);
    if (auto* op = stmt.as<AttrStmt>()) {
      double inside = (*this)(op->body);
      const int64_t* extent = op->node.as<IterVarNode>() ? as_int(op->value) : nullptr;
      return extent ? static_cast<double>(*extent) * inside : inside;
    }
    if (auto* op = stmt.as<AssertStmt>()) return (*this)(op->condition) + (*this)(op->body);
    if (auto* op = stmt.as<Allocate>()) return (*this)(op->body);
    if (auto* op = stmt.as<AllocateConst>()) return (*this)(op->body);
    if (auto* op = stmt.as<BufferRealize>()) return (*this)(op->body);
    if (auto* op = stmt.as<DeclBuffer>()) return (*this)(op->body);
    if (stmt.as<While>()) throw Error(ValueError) << "estimate_tir_flops: it is not known how often a while loop runs";
    return 0;
  }

  double sum(const Array<PrimExpr>& values) {
    double total = 0;
    for (const PrimExpr& value : values) total += (*this)(value);
    return total;
  }
};

double estimate_flops(const ObjectRef& what) {
  if (auto* stmt = what.as<StmtNode>()) return Counter()(Stmt(stmt));
  if (auto* function = what.as<PrimFuncNode>()) return Counter()(function->body);
  if (auto* mod = what.as<IRModuleNode>()) {
    double total = 0;
    for (const auto& [var, function] : mod->functions)
      if (PrimFunc program = downcast_or_null<PrimFunc>(function)) total += Counter()(program->body);
    return total;
  }
  throw Error(TypeError) << "estimate_tir_flops: expected a statement, a PrimFunc or an IRModule, got "
                         << (what ? what->type_key() : "None");
}

static Globals estimate_flops_globals{{"tir.analysis.EstimateTIRFlops", estimate_flops}};

}  // namespace
}  // namespace tessera

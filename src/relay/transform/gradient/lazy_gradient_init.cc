// Gradients start at zero and at one; tensors that only say so are not computed with:
//
//   let %z = zeros_like(%x); add(%z, %g)   =>   let %z = zeros_like(%x); %g
//
// A sum with zeros and a product with ones is its other operand, a product with zeros is zeros, where the other operand has
// the type of the result. Lets that nobody uses any more are left for DeadCodeElimination.

#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/scopes.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

enum class Fill { Unknown, Zeros, Ones };

class LazyGradients {
 public:
  Expr run(const Expr& root) {
    Rewriter rewriter;
    rewriter.on([&](Rewriter& self, const Call* call) -> Expr { return simplified(self.children(call), call); });
    rewriter.on([&](Rewriter& self, const Let* let) -> Expr {
      auto new_value = [&](const Let* one) {
        Expr value = self(one->value);
        if (Fill fill = fill_of(value); fill != Fill::Unknown) filled_[one->var.get()] = fill;
        return value;
      };
      return rewrite_lets(let, new_value, [&](const Expr& end) { return Expr(self(end)); });
    });
    return rewriter(root);
  }

 private:
  static const OpNode* op_of(const Expr& expr) {
    auto* call = expr.as<Call>();
    return call ? call->op.as<OpNode>() : nullptr;
  }

  Fill fill_of(const Expr& expr) const {
    if (auto it = filled_.find(expr.get()); it != filled_.end()) return it->second;
    auto* op = op_of(expr);
    if (!op) return Fill::Unknown;
    if (Any value = Op(op).slot(kFillValue); !value.is_null())
      return value.to<double>() == 0 ? Fill::Zeros : value.to<double>() == 1 ? Fill::Ones : Fill::Unknown;
    if (op->name == ops::collapse_sum_like || op->name == ops::broadcast_to_like)  // zeros stay zeros in every shape
      return fill_of(expr.as<Call>()->args[0]) == Fill::Zeros ? Fill::Zeros : Fill::Unknown;
    return Fill::Unknown;
  }

  Expr simplified(const Ref<Call>& call, const Call* before) const {
    auto* op = op_of(call);
    if (!op || call->args.size() != 2) return call;
    Fill a = fill_of(call->args[0]), b = fill_of(call->args[1]);
    if (op->name == ops::add && a == Fill::Zeros) return operand(call, before, 1);
    if ((op->name == ops::add || op->name == ops::subtract) && b == Fill::Zeros) return operand(call, before, 0);
    if (op->name == ops::multiply && (a == Fill::Ones || b == Fill::Zeros)) return operand(call, before, 1);
    if (op->name == ops::multiply && (b == Fill::Ones || a == Fill::Zeros)) return operand(call, before, 0);
    return call;
  }

  /// The operand in place of the call, if it has its type: broadcasting would be lost otherwise.
  static Expr operand(const Ref<Call>& call, const Call* before, int i) {
    bool same = structural_equal(checked_type(before->args[i]), checked_type(Expr(before)));
    return same ? Expr(call->args[i]) : Expr(call);
  }

  std::unordered_map<const Object*, Fill> filled_;  // variables that are known to be zeros or ones
};

}  // namespace

Expr lazy_gradient_init(const Expr& body) { return LazyGradients().run(body); }

}  // namespace tessera::relay

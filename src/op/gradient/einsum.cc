// The gradient of einsum: the equation turned. The result's term and the other operands' give an operand's.

#include "topi/einsum.h"
#include "op/gradient/separable.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::make_attrs;

struct Operand {
  std::string term;
  Expr value;
};

/// An equation in letters alone.
class Equation {
 public:
  explicit Equation(const Call* call) {
    auto* tuple = relay::checked_type(call->args[0]).as<TupleType>();
    std::vector<size_t> ranks;
    for (const Type& field : tuple->fields_) ranks.push_back(tensor_of(field)->shape.size());
    topi::Einsum einsum(call->attrs_as<relay::EinsumAttrs>()->equation.str(), ranks);
    std::string used = einsum.output + einsum.summed;
    for (char c = 'A'; c <= 'z'; ++c)
      if (isalpha(c) && used.find(c) == std::string::npos) free_ += c;
    std::string digits;  // what ellipses stand for
    auto letters = [&](std::string term) {
      for (char& c : term) {
        if (!isdigit(c)) continue;
        while (digits.size() <= static_cast<size_t>(c - '0')) digits += fresh();
        c = digits[static_cast<size_t>(c - '0')];
      }
      return term;
    };
    output_ = letters(einsum.output);
    auto* given = call->args[0].as<relay::Tuple>();
    for (size_t i = 0; i < ranks.size(); ++i) {
      operands_.push_back({letters(einsum.inputs[i]),
                           given ? given->fields_[i] : relay::make_get_item(call->args[0], static_cast<int>(i))});
      types_.push_back(tensor_of(tuple->fields_[i]));
    }
    for (size_t i = 0; i < ranks.size(); ++i) separate_diagonals(i);
  }

  size_t size() const { return types_.size(); }

  /// The gradient of operand `k`. A letter that is in no other term was summed alone, and stands for ones.
  Expr gradient(size_t k, const Expr& grad) const {
    std::string equation = output_;
    Exprs factors{grad};
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (i == k) continue;
      equation += "," + operands_[i].term;
      factors.push_back(operands_[i].value);
    }
    const std::string known = equation, &term = operands_[k].term;
    for (size_t d = 0; d < term.size(); ++d) {
      if (known.find(term[d]) != std::string::npos) continue;
      equation += std::string(",") + term[d];
      factors.push_back(call_op("ones", {}, make_attrs<relay::InitOpAttrs>([&](auto& a) {
                                  a.shape = {types_[k]->shape[d]}, a.dtype = types_[k]->dtype;
                                })));
    }
    Expr turned =
        call_op("einsum", {relay::make_tuple(factors)},
                make_attrs<relay::EinsumAttrs>([&](auto& a) { a.equation = String(equation + "->" + term); }));
    return relay::collapse_sum_like(turned, operands_[k].value);
  }

 private:
  char fresh() {
    if (free_.empty()) throw Error(NotImplementedError) << "the gradient of an einsum has more than 52 letters";
    char out = free_.back();
    free_.pop_back();
    return out;
  }

  /// A letter that one term has twice takes a diagonal: the second gets its own, and the identity connects them.
  ///   ii->i   =>   ij,ij->i   with the identity as second operand
  void separate_diagonals(size_t k) {
    for (size_t d = 0; d < types_[k]->shape.size(); ++d) {
      char letter = operands_[k].term[d];
      size_t first = operands_[k].term.find(letter);
      if (first == d) continue;
      int64_t extent = known_extent(types_[k], d);
      if (extent != known_extent(types_[k], first))
        throw Error(NotImplementedError) << "an einsum that broadcasts one side of a diagonal has no gradient";
      operands_[k].term[d] = fresh();
      operands_.push_back({std::string{letter, operands_[k].term[d]}, identity_matrix(extent, types_[k]->dtype)});
    }
  }

  std::string output_, free_;
  std::vector<Operand> operands_;             // those of the call, then identities
  std::vector<const TensorTypeNode*> types_;  // of those of the call
};

Exprs einsum_gradient(const Call* call, const Expr& grad) {
  Equation equation(call);
  Exprs out;
  for (size_t k = 0; k < equation.size(); ++k) out.push_back(equation.gradient(k, grad));
  return {relay::make_tuple(out)};
}

}  // namespace

static void einsum_gradients() { set_gradients({{"einsum", einsum_gradient}}); }

[[gnu::init_priority(kFamilies)]] static const OpFamily einsum_gradient_family{einsum_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op

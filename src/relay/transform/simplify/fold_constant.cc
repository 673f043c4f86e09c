// FoldConstant: what depends on constants only is computed at compile time.
//
//   add(%x, multiply([1, 2, 3], 2))        =>    add(%x, [2, 4, 6])
//   reshape(%x, shape_of(%y: (3, 4)))      =>    reshape(%x, [3, 4])
//   if (True) { a } else { b }             =>    a
//
// All constant parts of a function are computed by one compiled program: the pass hands a function that returns them as a
// tuple to the `constant_evaluator`, which the driver sets.

#include "relay/transform/simplify/fold_constant.h"

#include <unordered_set>

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"
#include "runtime/function/element.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

// A result beyond this size stays a computation when it is also many times what it is made from (a large `full`).
constexpr size_t kLargeBytes = 1 << 20;
constexpr size_t kMaxGrowth = 8;

Expr typed_constant(NDArray data) {
  Expr out = make_constant(data);
  std::vector<int64_t> shape(data.shape().begin(), data.shape().end());
  out->checked_type_ = TensorType(int_array(shape), data.dtype());
  return out;
}

/// The bytes of all tensors in a value of this type; nothing where a size is not fixed or it is not made of tensors.
std::optional<size_t> fixed_bytes(const Type& type) {
  if (auto* tuple = type.as<TupleType>()) {
    size_t total = 0;
    for (const Type& field : tuple->fields_) {
      std::optional<size_t> bytes = fixed_bytes(field);
      if (!bytes) return std::nullopt;
      total += *bytes;
    }
    return total;
  }
  std::optional<std::vector<int64_t>> shape = fixed_shape(type);
  if (!shape) return std::nullopt;
  return tensor_bytes(*shape, type.as<TensorTypeNode>()->dtype);
}

bool may_fold(const OpNode* op, bool fold_qnn) {
  std::string_view name(op->name);
  if (has_flag(op, kIsStateful) || has_flag(op, kNonComputational)) return false;
  if (name.starts_with("random.") || name.starts_with("annotation.")) return false;
  if (name.starts_with("qnn.")) return fold_qnn;
  return Op(op).has(kCompute) || Op(op).has("FTVMStrategy");
}

}  // namespace

Expr shape_constant(const Call* call) {
  std::string_view name = op_name(call);
  if (name != ops::shape_of && name != ops::ndarray_size) return nullptr;
  std::optional<std::vector<int64_t>> shape = fixed_shape(call->args[0]->checked_type_);
  auto* out = call->checked_type_.as<TensorTypeNode>();
  if (!shape || !out) return nullptr;
  if (name == ops::shape_of) {
    Expr values = make_ints(*shape, out->dtype);
    return typed_constant(values.as<Constant>()->data);
  }
  int64_t size = 1;
  for (int64_t extent : *shape) size *= extent;
  return typed_constant(int_scalar(size, out->dtype));
}

namespace {

/// What needs no computing: known shapes, fields of tuples, decided branches, names for constants.
Expr simplify_structure(const Expr& root) {
  std::unordered_map<const Object*, Expr> values;  // variables that stand for constants
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
    if (Expr known = shape_constant(call)) return known;
    return self.children(call);
  });
  rewriter.on([](Rewriter& self, const TupleGetItem* get) -> Expr {
    Expr tuple = self(get->tuple);
    auto* made = tuple.as<Tuple>();
    if (made && static_cast<size_t>(get->index) < made->fields_.size()) return made->fields_[get->index];
    return with(get, &TupleGetItem::tuple, tuple);
  });
  rewriter.on([](Rewriter& self, const If* branch) -> Expr {
    Expr cond = self(branch->cond);
    if (std::optional<double> value = scalar_value(cond))
      return self(*value != 0 ? branch->true_branch : branch->false_branch);
    auto out = with(branch, &If::cond, cond);
    out = with(out, &If::true_branch, self(branch->true_branch));
    return with(out, &If::false_branch, self(branch->false_branch));
  });
  rewriter.on([&](const VarNode* var) -> Expr {
    auto it = values.find(var);
    return it == values.end() ? Expr(var) : it->second;
  });
  rewriter.on([&](Rewriter& self, const Let* first) -> Expr {
    auto new_value = [&](const Let* let) -> Expr {
      Expr value = self(let->value);
      if (!value.as<Constant>()) return value;
      values.emplace(let->var.get(), value);
      return nullptr;
    };
    return rewrite_lets(first, new_value, self);
  });
  rewriter.on([](Rewriter& self, const FunctionNode* function) -> Expr {
    return function->attrs.is_true(attr::kPrimitive) ? Expr(function) : Expr(self.children(function));
  });
  return rewriter(root);
}

/// One round: finds what is constant, has it computed, replaces it by the values.
class Folding {
 public:
  Folding(const Expr& root, bool fold_qnn) : root_(root), fold_qnn_(fold_qnn) {
    pre_order(root, [&](const Expr& expr) {
      has_scopes_ |= expr.as<Let>() || expr.as<If>();
      if (auto* let = expr.as<Let>()) bound_.emplace(let->var.get(), let->value);
      return true;
    });
    post_order(root, [&](const Expr& expr) {
      if (is_constant(expr)) constant_.insert(expr.get());
    });
    pre_order(root, [&](const Expr& expr) {
      auto* function = expr.as<FunctionNode>();
      if (function && function->attrs.is_true(attr::kPrimitive)) return false;
      bool is_computed = (expr.as<Call>() || expr.as<TupleGetItem>()) && constant_.count(expr.get());
      if (is_computed) wanted_.push_back(expr);
      return !is_computed;
    });
  }

  bool has_work() const { return !wanted_.empty(); }
  bool has_scopes() const { return has_scopes_; }

  Expr replaced() {
    evaluate();
    Rewriter rewriter;
    auto known = [this](Rewriter& self, const auto* node) -> Expr {
      auto it = values_.find(node);
      return it == values_.end() ? Expr(self.children(node)) : it->second;
    };
    rewriter.on([known](Rewriter& self, const Call* call) -> Expr { return known(self, call); });
    rewriter.on([known](Rewriter& self, const TupleGetItem* get) -> Expr { return known(self, get); });
    rewriter.on([](Rewriter& self, const FunctionNode* function) -> Expr {
      return function->attrs.is_true(attr::kPrimitive) ? Expr(function) : Expr(self.children(function));
    });
    return rewriter(root_);
  }

 private:
  bool is_constant(const Expr& expr) const {
    if (expr.as<Constant>()) return true;
    if (expr.as<VarNode>()) {
      auto it = bound_.find(expr.get());
      return it != bound_.end() && constant_.count(it->second.get());
    }
    if (auto* tuple = expr.as<Tuple>()) return all_constant(tuple->fields_);
    if (auto* get = expr.as<TupleGetItem>()) return constant_.count(get->tuple.get());
    auto* call = expr.as<Call>();
    auto* op = call ? call->op.as<OpNode>() : nullptr;
    if (!op || call->args.empty() || !all_constant(call->args) || !may_fold(op, fold_qnn_)) return false;
    std::optional<size_t> bytes = fixed_bytes(expr->checked_type_);
    return bytes && (*bytes <= kLargeBytes || *bytes <= kMaxGrowth * input_bytes(call));
  }

  bool all_constant(const Array<Expr>& exprs) const {
    for (const Expr& expr : exprs)
      if (!constant_.count(expr.get())) return false;
    return true;
  }

  static size_t input_bytes(const Call* call) {
    size_t total = 0;
    for (const Expr& arg : call->args) {
      auto* constant = arg.as<Constant>();
      total += constant ? constant->data.bytes() : fixed_bytes(arg->checked_type_).value_or(0);
    }
    return total;
  }

  void evaluate() {
    Expr results = make_tuple(Array<Expr>(wanted_));
    results = tessera::rewrite(results, [this](Rewriter& self, const VarNode* var) -> Expr {
      return self(bound_.at(var));  // only names for constants are in sight here
    });
    ICHECK(constant_evaluator()) << "the driver says how constants are computed";
    Array<NDArray> computed = constant_evaluator()(make_function({}, results));
    size_t next = 0;
    for (const Expr& expr : wanted_) values_.emplace(expr.get(), value_of(expr->checked_type_, computed, &next));
  }

  /// The next tensors as a value of the type.
  static Expr value_of(const Type& type, const Array<NDArray>& tensors, size_t* next) {
    auto* tuple = type.as<TupleType>();
    if (!tuple) return typed_constant(tensors[(*next)++]);
    Array<Expr> fields;
    for (const Type& field : tuple->fields_) fields.push_back(value_of(field, tensors, next));
    return make_tuple(fields);
  }

  Expr root_;
  bool fold_qnn_, has_scopes_ = false;
  std::unordered_map<const Object*, Expr> bound_;
  std::unordered_set<const Object*> constant_;
  std::vector<Expr> wanted_;
  std::unordered_map<const Object*, Expr> values_;
};

}  // namespace

ConstantEvaluator& constant_evaluator() {
  static ConstantEvaluator evaluator = nullptr;
  return evaluator;
}

Expr fold_constant(Expr expr, bool fold_qnn) {
  for (;;) {
    expr = simplify_structure(expr);
    Folding folding(expr, fold_qnn);
    if (!folding.has_work()) return expr;
    expr = folding.replaced();
    if (!folding.has_scopes()) return simplify_structure(expr);
  }
}

Pass fold_constant_pass(bool fold_qnn) {
  return pass_over<Function>(fold_constant_pass, [fold_qnn](const Function& function) {
    return downcast<Function>(fold_constant(function, fold_qnn));
  });
}

static Globals fold_constant_globals{
    {"relay._transform.FoldConstantExpr",
     [](Expr expr, IRModule mod, bool fold_qnn) {
       return fold_constant(infer_type(expr, mod ? mod : IRModule()), fold_qnn);
     }},
};

}  // namespace tessera::relay

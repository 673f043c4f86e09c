// Gradients of graphs. Forward values are named in the order of evaluation, each with a zero that its gradient starts
// from; then the steps are gone through backwards, and each adds what it contributes to its arguments' gradients:
//
//   exp(x)   =>   let f = exp(x); let z = zeros_like(f); ... let dx_1 = add(dx_0, multiply(df, exp(x)))

#include <functional>
#include <memory>

#include "base/stack.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/scopes.h"
#include "relay/transform/gradient/gradient.h"

namespace tessera::relay {
namespace {

/// What is known of a value: a tensor and its gradient so far, a tuple of such, or a function.
struct Flow {
  Expr forward, reverse;                      // of a tensor
  std::vector<std::shared_ptr<Flow>> fields;  // of a tuple
  Function function;
  Op op;
  bool is_tensor() const { return forward.defined(); }
};
using FlowPtr = std::shared_ptr<Flow>;

class Differentiator {
 public:
  explicit Differentiator(IRModule mod) : mod_(std::move(mod)) {}

  Function run(const Function& function) {
    Expr body = with_lets([&](LetList& lets) {
      lets_ = &lets;
      std::vector<FlowPtr> params;
      for (const Var& param : function->params) {
        params.push_back(tracked(param));
        flows_[param.get()] = params.back();
      }
      FlowPtr out = visit(function->body);
      Expr forward = value_of(out);
      Expr gradients = with_lets([&](LetList& backwards) {
        start(out);
        for (size_t i = steps_.size(); i-- > 0;) steps_[i](backwards);
        Array<Expr> all;
        for (const FlowPtr& param : params) all.push_back(gradient_of(param));
        return make_tuple(all);
      });
      return make_tuple({forward, gradients});
    });
    TupleType of_params, result;
    for (const Var& param : function->params) of_params.fields_.push_back(checked_type(param));
    result.fields_ = {checked_type(function->body), make(std::move(of_params))};
    return make_function(function->params, body, make(std::move(result)), {}, function->attrs, function->span);
  }

 private:
  /// A value with the zeros that its gradient starts from. Of a tuple, each field.
  FlowPtr tracked(const Expr& value) {
    auto out = std::make_shared<Flow>();
    Type type = checked_type(value);
    if (auto* tuple = type.as<TupleType>()) {
      Expr whole = is_name(value) ? value : Expr(lets_->push(value));
      for (size_t i = 0; i < tuple->fields_.size(); ++i)
        out->fields.push_back(tracked(typed(make_get_item(whole, static_cast<int>(i)), tuple->fields_[i])));
      return out;
    }
    out->forward = lets_->push(value);
    out->reverse = lets_->push(typed(zeros_like(out->forward), type));
    return out;
  }

  FlowPtr visit(const Expr& root) {
    Expr expr = root;
    while (auto* let = expr.as<Let>()) {
      if (!flows_.count(let->var.get())) remember(let->var, visit(let->value));
      expr = let->body;
    }
    if (auto it = flows_.find(expr.get()); it != flows_.end()) return it->second;
    FlowPtr out = on_enough_stack([&] { return find(expr); });
    remember(expr, out);
    return out;
  }
  void remember(const Expr& expr, const FlowPtr& flow) {
    flows_[expr.get()] = flow;
    remembered_.push_back(expr.get());
  }

  FlowPtr find(const Expr& expr) {
    auto out = std::make_shared<Flow>();
    if (expr.as<Constant>()) return tracked(expr);
    if (auto* op = expr.as<OpNode>()) return out->op = Op(op), out;
    if (auto* function = expr.as<FunctionNode>()) return out->function = Function(function), out;
    if (auto* global = expr.as<GlobalVarNode>()) {
      out->function = downcast_or_null<Function>(mod_.lookup(global->name_hint));
      return out;
    }
    if (auto* tuple = expr.as<Tuple>()) {
      for (const Expr& field : tuple->fields_) out->fields.push_back(visit(field));
      return out;
    }
    if (auto* get = expr.as<TupleGetItem>()) return visit(get->tuple)->fields.at(get->index);
    if (auto* call = expr.as<Call>()) {
      FlowPtr callee = visit(call->op);
      if (callee->op) return apply_operator(call, callee->op);
      if (callee->function) return apply_function(call, callee->function);
    }
    throw Error(NotImplementedError) << "first-order gradients are of graphs of operators, and this is a "
                                     << expr->type_key() << "; use mode=\"higher_order\"";
  }

  /// The body of a known function, once for each call.
  FlowPtr apply_function(const Call* call, const Function& function) {
    std::vector<FlowPtr> args;
    for (const Expr& arg : call->args) args.push_back(visit(arg));
    size_t before = remembered_.size();
    for (size_t i = 0; i < args.size(); ++i) remember(function->params[i], args[i]);
    FlowPtr out = visit(function->body);
    for (; remembered_.size() > before; remembered_.pop_back()) flows_.erase(remembered_.back());
    return out;
  }

  FlowPtr apply_operator(const Call* call, const Op& op) {
    std::vector<FlowPtr> args;
    Array<Expr> values;
    for (const Expr& arg : call->args) {
      args.push_back(visit(arg));
      values.push_back(value_of(args.back()));
    }
    Expr again = typed(make_call(op, values, call->attrs, call->type_args, call->span), call->checked_type_);
    FlowPtr out = tracked(again);
    steps_.push_back([=, this](LetList& backwards) {
      Array<Expr> gradients = argument_gradients(op, again, gradient_of(out));
      for (size_t i = 0; i < args.size(); ++i) accumulate(args[i], gradients[i], backwards);
    });
    return out;
  }

  static void accumulate(const FlowPtr& flow, const Expr& gradient, LetList& backwards) {
    if (flow->is_tensor()) {
      Expr sum = typed(add(flow->reverse, gradient), flow->reverse->checked_type_);
      flow->reverse = backwards.push(sum);
      return;
    }
    for (size_t i = 0; i < flow->fields.size(); ++i) {
      auto* tuple = gradient.as<Tuple>();
      accumulate(flow->fields[i], tuple ? Expr(tuple->fields_[i]) : make_get_item(gradient, static_cast<int>(i)),
                 backwards);
    }
  }

  /// The gradient of the result is one everywhere; of a tuple, that of its first field, the loss.
  static void start(const FlowPtr& flow) {
    if (flow->is_tensor()) flow->reverse = typed(ones_like(flow->forward), flow->forward->checked_type_);
    else if (!flow->fields.empty()) start(flow->fields[0]);
  }

  static Expr assembled(const FlowPtr& flow, Expr Flow::* part) {
    if (flow->is_tensor()) return (*flow).*part;
    if (flow->function || flow->op)
      throw Error(NotImplementedError) << "first-order gradients cannot follow a function as a value; use "
                                          "mode=\"higher_order\"";
    Array<Expr> fields;
    TupleType type;
    for (const FlowPtr& field : flow->fields) {
      fields.push_back(assembled(field, part));
      type.fields_.push_back(fields.back()->checked_type_);
    }
    return typed(make_tuple(fields), make(std::move(type)));
  }
  static Expr value_of(const FlowPtr& flow) { return assembled(flow, &Flow::forward); }
  static Expr gradient_of(const FlowPtr& flow) { return assembled(flow, &Flow::reverse); }

  IRModule mod_;
  LetList* lets_ = nullptr;
  std::unordered_map<const Object*, FlowPtr> flows_;
  std::vector<const Object*> remembered_;  // keys of flows_, in order
  std::vector<std::function<void(LetList&)>> steps_;
};

}  // namespace

Function first_order_gradient(const Expr& function, const IRModule& mod) {
  return Differentiator(mod ? mod : IRModule()).run(function_to_differentiate(function, mod));
}

}  // namespace tessera::relay

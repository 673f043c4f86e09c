// ToMixedPrecision: matmuls and convolutions run in a narrower float type, what is sensitive stays in float32, the rest
// follows its inputs.
//
//   nn.softmax(nn.dense(%x, %w))  =>  nn.softmax(cast(nn.dense(cast(%x, f16), cast(%w, f16), out_dtype=f16), f32))
//
// The slot kMixedPrecision of an operator says what it wants; what has none stays in float32 and is reported.

#include <cstdio>
#include <map>
#include <set>

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

struct Conversion {
  Precision kind;
  DataType accumulation, result;
};

class MixedPrecision {
 public:
  MixedPrecision(DataType narrow, int missing_mode) : narrow_(narrow), missing_mode_(missing_mode) {
    rewriter_.on([this](const Call* call) { return on(call); });
    rewriter_.on([this](const Tuple* tuple) -> Expr { return typed(make_tuple(rewriter_(tuple->fields_))); });
    rewriter_.on(
        [this](const TupleGetItem* get) -> Expr { return typed(make_get_item(rewriter_(get->tuple), get->index)); });
    rewriter_.on([this](Rewriter& self, const Let* let) -> Expr {  // names keep the type they had
      auto out = with(let, &Let::value, as_before(self(let->value), let->value));
      return with(out, &Let::body, as_before(self(let->body), let->body));
    });
    rewriter_.on([this](Rewriter& self, const If* branch) -> Expr {
      auto out = with(branch, &If::cond, self(branch->cond));
      out = with(out, &If::true_branch, as_before(self(branch->true_branch), branch->true_branch));
      return with(out, &If::false_branch, as_before(self(branch->false_branch), branch->false_branch));
    });
    rewriter_.on([this](Rewriter& self, const FunctionNode* function) -> Expr {
      if (function->attrs.is_true(attr::kPrimitive) || function->attrs.has(attr::kCompiler)) return Expr(function);
      return with(function, &FunctionNode::body, as_before(self(function->body), function->body));
    });
  }

  Expr operator()(const Expr& body) { return rewriter_(body); }
  /// The value with the element types that `before` has.
  Expr as_before(const Expr& now, const Expr& before) { return with_types(now, checked_type(before)); }

  void report_missing() const {
    if (missing_.empty() || missing_mode_ == 2) return;
    std::string names;
    for (const std::string& name : missing_) names += (names.empty() ? "" : ", ") + name;
    if (missing_mode_ == 0)
      throw Error(ValueError) << "ToMixedPrecision: it is not known how these operators take narrow types: " << names;
    std::fprintf(stderr, "ToMixedPrecision: operators that stay in float32, since nothing is known of them: %s\n",
                 names.c_str());
  }

 private:
  static constexpr DataType wide() { return DataType::Float(32); }

  Conversion conversion_of(const Call* call) {
    auto* op = call->op.as<OpNode>();
    if (!op) return {Precision::Never, wide(), wide()};
    Any rule = Op(op).slot(kMixedPrecision);
    if (rule.is_null()) {
      missing_.insert(op->name.str());
      return {Precision::Never, wide(), wide()};
    }
    Array<ObjectRef> said = rule.to<PackedFunc>()(Expr(call), String(narrow_.str())).to<Array<ObjectRef>>();
    ICHECK(said.size() == 3) << "expected [kind, accumulation type, result type]";
    auto type_of = [](const ObjectRef& text) { return DataType(std::string_view(downcast<String>(text))); };
    return {static_cast<Precision>(Any::of_object(said[0].get()).to<int64_t>()), type_of(said[1]), type_of(said[2])};
  }

  static bool is_tensor_of(const Expr& expr, DataType dtype) {
    auto* tensor = expr->checked_type_.as<TensorTypeNode>();
    return tensor && tensor->dtype == dtype;
  }
  bool holds_narrow(const Expr& expr) const {
    if (is_tensor_of(expr, narrow_)) return true;
    auto* tuple = expr->checked_type_.as<TupleType>();
    for (size_t i = 0; tuple && i < tuple->fields_.size(); ++i) {
      auto* tensor = tuple->fields_[i].as<TensorTypeNode>();
      if (tensor && tensor->dtype == narrow_) return true;
    }
    return false;
  }

  /// `expr` in another float type, once for each; a cast of a cast back is what it was made from.
  Expr casted(const Expr& expr, DataType dtype) {
    auto* tensor = expr->checked_type_.as<TensorTypeNode>();
    if (!tensor || tensor->dtype == dtype || (tensor->dtype != wide() && tensor->dtype != narrow_)) return expr;
    if (auto* inner = as_call(expr, ops::cast); inner && made_.count(inner) && is_tensor_of(inner->args[0], dtype))
      return inner->args[0];
    auto [it, is_new] = casts_.try_emplace({expr.get(), dtype.str()});
    if (is_new) {
      it->second = {expr, typed(cast(expr, dtype))};
      made_.insert(it->second.second.get());
    }
    return it->second.second;
  }

  /// All tensors in a float type, tuples field by field.
  Expr converted(const Expr& expr, DataType dtype) {
    auto* type = expr->checked_type_.as<TupleType>();
    if (!type) return casted(expr, dtype);
    Array<Expr> fields;
    for (size_t i = 0; i < type->fields_.size(); ++i) fields.push_back(converted(field(expr, i), dtype));
    return typed(make_tuple(fields));
  }

  static Expr field(const Expr& expr, size_t i) {
    auto* tuple = expr.as<Tuple>();
    return tuple ? tuple->fields_[i] : typed(make_get_item(expr, static_cast<int>(i)));
  }

  Expr with_types(const Expr& now, const Type& type) {
    if (auto* tensor = type.as<TensorTypeNode>()) return casted(typed(now), tensor->dtype);
    auto* tuple = type.as<TupleType>();
    if (!tuple || !holds_narrow(typed(now))) return now;
    Array<Expr> fields;
    for (size_t i = 0; i < tuple->fields_.size(); ++i) fields.push_back(with_types(field(now, i), tuple->fields_[i]));
    return typed(make_tuple(fields));
  }

  Expr on(const Call* call) {
    Array<Expr> args = rewriter_(call->args);
    if (!call->op.as<OpNode>()) {  // functions keep their signatures
      for (size_t i = 0; i < args.size(); ++i) args.set(i, as_before(args[i], call->args[i]));
      return with_args(call, args);
    }
    Conversion conversion = conversion_of(call);
    bool narrow = conversion.kind == Precision::Always;
    if (conversion.kind == Precision::Follow)
      for (const Expr& arg : args) narrow = narrow || holds_narrow(typed(arg));
    DataType dtype = narrow ? narrow_ : wide();
    for (size_t i = 0; i < args.size(); ++i) args.set(i, converted(typed(args[i]), dtype));
    Call out(*call);
    out.args = args;
    out.checked_type_ = nullptr;
    if (narrow) out.attrs = with_out_dtype(call->attrs, conversion.accumulation);
    Expr made = typed(make(std::move(out)));
    return narrow ? casted(made, conversion.result) : made;
  }

  DataType narrow_;
  int missing_mode_;
  Rewriter rewriter_;
  std::map<std::pair<const Object*, std::string>, std::pair<Expr, Expr>> casts_;  // the key is kept alive
  std::set<const Object*> made_;
  std::set<std::string> missing_;
};

ConfigKeys keys{config_flag("relay.ToMixedPrecision.keep_orig_output_dtype")};

}  // namespace

Pass to_mixed_precision_pass(DataType narrow, int missing_mode) {
  if (narrow != DataType::Float(16) && narrow.str() != "bfloat16")
    throw Error(ValueError) << "ToMixedPrecision: the narrow type must be float16 or bfloat16, got " << narrow.str();
  if (missing_mode < 0 || missing_mode > 2)
    throw Error(ValueError) << "ToMixedPrecision: missing_op_mode must be 0, 1 or 2, got " << missing_mode;
  return pass_over<Function>(to_mixed_precision_pass,
                             [=](const Function& function, const IRModule&, const PassContext& context) -> Function {
                               MixedPrecision convert(narrow, missing_mode);
                               FunctionNode out(*function);
                               out.body = convert(function->body);
                               if (context.flag("relay.ToMixedPrecision.keep_orig_output_dtype"))
                                 out.body = convert.as_before(out.body, function->body);
                               convert.report_missing();
                               out.ret_type = nullptr;
                               out.checked_type_ = nullptr;
                               return make(std::move(out));
                             });
}

}  // namespace tessera::relay

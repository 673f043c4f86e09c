// AnnotateTarget: each call is put between compiler_begin and compiler_end of the external code generator that takes it, or
// of "default".
//
//   nn.relu(%x)    =>    compiler_end(nn.relu(compiler_begin(%x, "dev")), "dev")

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/transform/region/compiler_regions.h"

namespace tessera::relay {
namespace {

class Annotator {
 public:
  Annotator(Array<String> targets, bool annotates_others) : targets_(std::move(targets)), others_(annotates_others) {
    rewriter_.on([this](const Call* call) { return on(call); });
    rewriter_.on([this](const Tuple* tuple) { return on(tuple); });
    rewriter_.on([this](const TupleGetItem* get) { return on(get); });
    rewriter_.on([this](const If* branch) -> Expr {
      auto out = with(branch, &If::cond, ended(branch->cond));
      out = with(out, &If::true_branch, ended(branch->true_branch));
      return with(out, &If::false_branch, ended(branch->false_branch));
    });
    rewriter_.on([this](Rewriter& self, const Let* let) -> Expr {
      auto out = with(let, &Let::value, ended(let->value));
      return with(out, &Let::body, let->body.as<Let>() ? self(let->body) : ended(let->body));
    });
    rewriter_.on([this](const FunctionNode* function) -> Expr {
      bool is_closed = function->attrs.has(attr::kComposite) || function->attrs.has(attr::kPrimitive);
      return is_closed ? Expr(function) : Expr(with(function, &FunctionNode::body, ended(function->body)));
    });
  }
  Expr operator()(const Expr& body) { return ended(body); }

 private:
  /// Who takes a call: the first target that says so.
  std::string target_for(const Call* call) const {
    auto* op = call->op.as<OpNode>();
    auto* function = call->op.as<FunctionNode>();
    for (const String& target : targets_) {
      if (op) {
        Any takes = Op(op).slot("target." + target.str());
        if (!takes.is_null() && takes.to<PackedFunc>()(Expr(call)).to<bool>()) return target.str();
      } else if (function) {
        String name = function->attrs.get_attr<String>(attr::kComposite);
        if (name && name.str().starts_with(target.str() + ".")) return target.str();
      }
    }
    return kDefaultCompiler;
  }

  /// The value, its region closed; each use closes it anew.
  Expr ended(const Expr& expr) {
    Expr value = rewriter_(expr);
    auto it = made_by_.find(value.get());
    return it == made_by_.end() ? value : compiler_end(value, it->second);
  }

  Array<Expr> begun(const Array<Expr>& args, const std::string& target) {
    Array<Expr> out;
    for (const Expr& arg : args) out.push_back(compiler_begin(ended(arg), target));
    return out;
  }

  Expr noted(Expr expr, std::string target) {
    made_by_.emplace(expr.get(), std::move(target));
    kept_.push_back(expr);
    return expr;
  }

  Expr on(const Call* call) {
    bool is_known = call->op.as<OpNode>() || call->op.as<FunctionNode>();
    std::string_view name = op_name(call);
    if (!is_known || name == ops::compiler_begin || name == ops::compiler_end) return rewriter_.children(call);
    std::string target = target_for(call);
    Call out(*call);
    out.args = begun(call->args, target);
    out.checked_type_ = nullptr;
    return noted(make(std::move(out)), target);
  }

  /// What is no call goes with its operands where they agree.
  std::string target_of_parts(const Array<Expr>& parts) {
    std::string common;
    for (const Expr& part : parts) {
      auto it = made_by_.find(rewriter_(part).get());
      std::string target = it == made_by_.end() ? kDefaultCompiler : it->second;
      if (!common.empty() && common != target) return kDefaultCompiler;
      common = target;
    }
    return common.empty() ? kDefaultCompiler : common;
  }

  Expr on(const Tuple* tuple) {
    if (!others_) {
      Array<Expr> fields;
      for (const Expr& field : tuple->fields_) fields.push_back(ended(field));
      return with(tuple, &Tuple::fields_, fields);
    }
    std::string target = target_of_parts(tuple->fields_);
    return noted(make_tuple(begun(tuple->fields_, target)), target);
  }

  Expr on(const TupleGetItem* get) {
    if (!others_) return with(get, &TupleGetItem::tuple, ended(get->tuple));
    std::string target = target_of_parts({get->tuple});
    return noted(make_get_item(begun({get->tuple}, target)[0], get->index), target);
  }

  Array<String> targets_;
  bool others_;
  Rewriter rewriter_;
  std::unordered_map<const Object*, std::string> made_by_;
  std::vector<Expr> kept_;  // alive, so that an address means one expression
};

}  // namespace

Expr annotate_target(const Expr& body, const Array<String>& targets, bool include_non_call_ops) {
  return Annotator(targets, include_non_call_ops)(body);
}

}  // namespace tessera::relay

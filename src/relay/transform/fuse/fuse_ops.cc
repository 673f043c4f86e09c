// FuseOps: each group of operators becomes a call of one primitive function.
//
//   %0 = nn.conv2d(%x, %w); nn.relu(%0)     =>     %1 = fn (%p0, %p1, Primitive=1) { ... }; %1(%x, %w)

#include "ir/rewrite.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/fusion_plan.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

/// What a kernel takes from outside: parameters and the expressions that stand for them.
struct KernelInputs {
  Array<Var> params;
  Array<Expr> arguments;

  Expr param_for(const Expr& argument, const Type& type) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].same_as(argument)) return params[i];
    params.push_back(make_local("p" + std::to_string(params.size()), type));
    arguments.push_back(argument);
    return params.back();
  }
};

/// What a kernel is made of, for the attributes of its function.
struct Contents {
  bool has_call = false;
  bool only_reshapes = true;
};

Contents contents_of(const Expr& body) {
  Contents out;
  walk(body, [&](const Call* call) {
    out.has_call = true;
    out.only_reshapes &= moves_of(call) == Moves::View;
  });
  return out;
}

class Fuser {
 public:
  Fuser(const Expr& body, const FusionLimits& limits) : plan_(body, limits), limits_(limits) {
    rewriter_.on([this](const Call* call) { return on(call); });
    rewriter_.on([this](const Tuple* tuple) { return on(tuple); });
    rewriter_.on([this](const TupleGetItem* get) { return on(get); });
    rewriter_.on([](Rewriter& self, const FunctionNode* function) -> Expr {
      return function->attrs.is_true(attr::kPrimitive) ? Expr(function) : Expr(self.children(function));
    });
  }
  Expr operator()(const Expr& body) { return rewriter_(body); }

 private:
  Expr on(const Call* call) {
    auto* op = call->op.as<OpNode>();
    if (!op || Op(op).has(kNonComputational)) return rewriter_.children(call);
    if (op->name == ops::stop_fusion) return rewriter_(call->args[0]);  // it has done its work in the plan
    const FusionGroup* group = plan_.group(Expr(call));
    Expr inside = with(call, &Call::args, inputs(call->args, group, !computes_its_shape(call, Op(op))));
    return group->root == call ? close(group, checked_type(Expr(call)), inside) : inside;
  }

  Expr on(const Tuple* tuple) {
    const FusionGroup* group = plan_.group(Expr(tuple));
    if (group->root == tuple) return rewriter_.children(tuple);  // it only bundles results
    return with(tuple, &Tuple::fields_, inputs(tuple->fields_, group));
  }

  Expr on(const TupleGetItem* get) {
    const FusionGroup* group = plan_.group(Expr(get));
    bool stands_alone = group->root == get && plan_.group(get->tuple) != group;
    if (stands_alone) return rewriter_.children(get);
    Expr inside = with(get, &TupleGetItem::tuple, inputs({get->tuple}, group)[0]);
    return group->root == get ? close(group, checked_type(Expr(get)), inside) : inside;
  }

  /// The arguments as they are seen inside `group`: a parameter for each that comes from another. `holds_numbers`: but for
  /// numbers.
  Array<Expr> inputs(const Array<Expr>& args, const FusionGroup* group, bool holds_numbers = false) {
    Array<Expr> out = rewriter_(args);  // all of them before the first becomes a parameter: operands come first
    for (size_t i = 0; i < args.size(); ++i) {
      auto* constant = out[i].as<Constant>();
      bool is_held =
          constant && (limits_.link_constants || (holds_numbers && limits_.level > 0 && is_number(constant)));
      bool is_inside = is_held || plan_.group(args[i]) == group;
      if (!is_inside) out.set(i, kernels_[group].param_for(out[i], checked_type(args[i])));
    }
    return out;
  }

  Expr close(const FusionGroup* group, const Type& type, const Expr& body) {
    KernelInputs& kernel = kernels_[group];
    Contents contents = contents_of(body);
    DictAttrs attrs = DictAttrs().with(attr::kPrimitive, box_int(contents.has_call));
    if (contents.has_call && contents.only_reshapes) attrs = attrs.with(attr::kReshapeOnly, box_int(1));
    Expr out = make_call(make_function(kernel.params, body, type, {}, attrs), kernel.arguments);
    out->virtual_device_ = device_of(body);
    return out;
  }
  /// Where PlanDevices put the result of a kernel; all of it is on one device.
  static ObjectRef device_of(const Expr& body) {
    auto* get = body.as<TupleGetItem>();
    return get ? device_of(get->tuple) : body->virtual_device_;
  }
  static ObjectRef box_int(int value) { return int_imm(DataType::Int(32), value); }

  FusionPlan plan_;
  FusionLimits limits_;
  Rewriter rewriter_;
  std::unordered_map<const FusionGroup*, KernelInputs> kernels_;
};

static ConfigKeys keys{
    config_int("relay.FuseOps.max_depth"),
    config_flag("relay.FuseOps.link_params"),
};

}  // namespace

Function fuse_ops(const Function& function, const PassContext& context, int level) {
  FusionLimits limits;
  limits.level = level < 0 ? context->opt_level : level;
  if (ObjectRef depth = context.get_config("relay.FuseOps.max_depth"))
    limits.max_depth = static_cast<int>(Any::of_object(depth.get()).to<int64_t>());
  limits.link_constants = context.flag("relay.FuseOps.link_params");
  return with(function, &FunctionNode::body, Fuser(function->body, limits)(function->body));
}

}  // namespace tessera::relay

// WidenFloats: what a program computes with fp16 and bf16 is computed with fp32, where the CPU has its rules and
// its instructions. Inputs and results keep their types; a cast to 16 bits that the program itself asks for still rounds.
//
//   fn (%x: f16) -> f16 { nn.relu(nn.dense(%x, w16)) }
//     =>   fn (%x: f16) -> f16 { cast(nn.relu(nn.dense(cast(%x, f32), cast(w16, f32))), f16) }
//
// Values between operators keep the bits that rounding would have taken. Operators that are no plain function of numbers
// (sorting, random numbers, what looks at bits) get and give 16 bits as before, and so do functions with control flow.
//
// Weights stay in 16 bits where the target widens them as it reads them, and so do tables that elements are taken from:
//   nn.dense(%x: f32, w16, out_dtype=f32)        cast(take(table16, %i), f32)
// With instructions for dot products of bfloat16, both factors of a matmul are what the program says they are:
//   nn.dense(cast(%x, bf16), w16, out_dtype=f32)
// WidenWeights widens those weights that no later pass has packed. NarrowWeights makes that form of a program of fp32:
//   nn.dense(%x: f32, w)   =>   nn.dense(%x: f32, cast(w, f16), out_dtype=f32)

#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/walk.h"
#include "tir/layout.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/contraction/half_floats.h"

namespace tessera::relay {
namespace {

const DataType kWide = DataType::Float(32);

using topi::is_half_float;

/// Any tensor of the type is.
bool has_narrow(const Type& type) {
  if (auto* tensor = type.as<TensorTypeNode>()) return is_half_float(tensor->dtype);
  auto* tuple = type.as<TupleType>();
  if (!tuple) return false;
  for (const Type& field : tuple->fields_)
    if (has_narrow(field)) return true;
  return false;
}

/// Calls of operators on tensors, and tuples of them.
bool is_plain(const Function& function) {
  bool plain = true, found = false;
  post_order(function->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    plain = plain && (expr.as<VarNode>() || expr.as<Constant>() || expr.as<Tuple>() || expr.as<TupleGetItem>() ||
                      expr.as<OpNode>() || (call && call->op.as<OpNode>()));
    if (plain && !expr.as<OpNode>()) found = found || has_narrow(checked_type(expr));
  });
  return plain && found;
}

/// A function of numbers, or one that moves them, whatever their type.
bool is_of_numbers(const Call* call) {
  const Op op(call->op.as<OpNode>());
  Any said = op.slot(kIsNumeric);
  return said.is_null() ? fusion_of(op) <= Fusion::OutputElementwise : said.to<bool>();
}

/// Elements of the first argument in another order, or some of them, and not more than there were.
bool moves_elements(const Call* call) {
  const Moves moves = moves_of(call);
  return moves == Moves::View || moves == Moves::Permute || moves == Moves::Slice || moves == Moves::Gather;
}

/// A layer that may read its weight in 16 bits.
bool takes_narrow_weight(const Call* call) {
  auto* op = call->op.as<OpNode>();
  return op && has_flag(op, kTakesNarrowWeight);
}

/// True for matmuls, and for convolutions of all channels whose results fill vectors, or half ones where there are dot
/// products of pairs in them: others read their weights in ways that know float32 only.
bool reads_vectors(const Call* call, const topi::Machine& machine) {
  auto* conv = call->attrs.as<Conv2DAttrs>();
  if (!conv) return true;
  const Layout kernel = make_layout(conv->kernel_layout);
  const TensorType weight = tensor_type(call->args[1]);
  auto extent = [&](char letter) { return as_int(weight->shape[static_cast<size_t>(kernel->index_of(letter))]); };
  const int64_t *outs = extent('O'), *ins = extent('I');
  const int64_t lanes = machine->vector_bytes / kWide.bytes(), half = lanes / 2;
  if (conv->groups != 1 || !outs) return false;
  const bool are_pairs =
      weight->dtype == topi::kBf16Dot.b && dtype_of(call->args[0]) == topi::kBf16Dot.a && ins && *ins % 2 == 0;
  return *outs % lanes == 0 || (are_pairs && *outs % half == 0 && topi::group_isa(machine, topi::kBf16Dot, half));
}

/// True for a convolution of each channel alone: what it costs is to read its data, which 16 bits make half as much.
bool takes_narrow_data(const Call* call) {
  auto* conv = call->attrs.as<Conv2DAttrs>();
  if (!conv || !takes_narrow_weight(call)) return false;
  const int64_t* channels = as_int(tensor_type(call->args[1])->shape[0]);
  return conv->groups > 1 && channels && *channels == conv->groups;
}

/// Will be a constant when the model is compiled.
bool is_made_of_constants(Expr expr) {
  while (auto* call = expr.as<Call>()) {
    if (call->args.size() != 1 || (op_name(call) != ops::cast && !moves_elements(call))) return false;
    expr = call->args[0];
  }
  return expr.as<Constant>();
}

/// The value of 16 bits that `expr` is a cast of.
Expr narrow_form(const Expr& expr) {
  auto* call = expr.as<Call>();
  const bool is_wide = call && op_name(call) == ops::cast && call->attrs_as<CastAttrs>()->dtype == kWide;
  return is_wide && has_narrow(call->args[0]->checked_type_) ? call->args[0] : nullptr;
}

/// The attributes with this type of a result.
Attrs with_dtype(const Attrs& attrs, const char* name, DataType dtype) {
  const Field* field = attrs->type()->find(name);
  ObjectRef copy(attrs->type()->copy(attrs.get()));
  field->at<DataType>(copy.edit()) = dtype;
  return downcast<Attrs>(copy);
}

class Widener {
 public:
  explicit Widener(const GraphEnvironment& environment) {
    if (environment.is_for_cpu()) machine_ = topi::machine_of(environment.target);
  }

  Function operator()(const Function& function) {
    rewriter_.on([this](const VarNode* var) { return widened(Expr(var)); });
    rewriter_.on([this](const Constant* constant) { return widened(Expr(constant)); });
    rewriter_.on([this](const Call* call) { return on(call); });
    Expr body = rewriter_(function->body);
    return with(function, &FunctionNode::body, narrowed(body, checked_type(function->body)));
  }

 private:
  /// A value of its own type as one of 32 bits.
  static Expr widened(const Expr& expr) {
    auto* tuple = checked_type(expr).as<TupleType>();
    if (!tuple) return has_narrow(checked_type(expr)) ? cast(expr, kWide) : expr;
    return by_field(expr, checked_type(expr),
                    [](const Expr& part, const Type& type) { return has_narrow(type) ? cast(part, kWide) : part; });
  }

  /// A widened value as one of its own type.
  static Expr narrowed(const Expr& expr, const Type& type) {
    return by_field(expr, type, [](const Expr& part, const Type& wanted) {
      return has_narrow(wanted) ? cast(part, wanted.as<TensorTypeNode>()->dtype) : part;
    });
  }

  template <class F>
  static Expr by_field(const Expr& expr, const Type& type, F change) {
    auto* tuple = type.as<TupleType>();
    if (!tuple) return change(expr, type);
    if (!has_narrow(type)) return expr;
    Array<Expr> fields;
    auto* given = expr.as<Tuple>();
    for (size_t i = 0; i < tuple->fields_.size(); ++i) {
      Expr part = given ? given->fields_[i] : make_get_item(expr, static_cast<int>(i));
      fields.push_back(by_field(part, tuple->fields_[i], change));
    }
    return make_tuple(fields);
  }

  Expr on(const Call* call) {
    const Type type = checked_type(Expr(call));
    bool is_touched = has_narrow(type);
    for (const Expr& arg : call->args) is_touched = is_touched || has_narrow(checked_type(arg));
    Array<Expr> args = rewriter_(call->args);
    if (Expr out = with_narrow_data(call, args)) return out;
    if (!is_touched) return with_args(call, args);
    if (op_name(call) == ops::cast) return casted(args[0], checked_type(call->args[0]), type);
    if (moves_elements(call) && narrow_form(args[0]) && type.as<TensorTypeNode>()) {
      args.set(0, narrow_form(args[0]));
      return cast(typed(make_call(call->op, args, call->attrs), type), kWide);
    }
    if (takes_narrow_weight(call))
      if (Expr out = with_narrow_weight(call, args)) return out;
    if (is_of_numbers(call)) return make_call(call->op, args, with_wide(call->attrs));
    Array<Expr> own;
    for (size_t i = 0; i < args.size(); ++i) own.push_back(narrowed(args[i], checked_type(call->args[i])));
    Expr out = make_call(call->op, own, call->attrs);
    return by_field(out, type,
                    [](const Expr& part, const Type& wanted) { return has_narrow(wanted) ? cast(part, kWide) : part; });
  }

  /// The call of a layer whose weight is a constant; null where it is none, or the target has no use for one of 16 bits.
  Expr with_narrow_weight(const Call* call, const Array<Expr>& args) const {
    Expr weight = narrow_form(args[1]);
    if (!machine_ || !weight || !is_made_of_constants(weight)) return nullptr;
    const DataType dtype = dtype_of(weight);
    if (!topi::widens_when_read(machine_, dtype) || !reads_vectors(call, machine_)) return nullptr;
    Expr data = args[0];
    if (dtype.is_bfloat() && dtype_of(call->args[0]) == dtype && topi::multiplies_bf16(machine_)) {
      Expr given = narrow_form(data);
      data = given && dtype_of(given) == dtype ? given : cast(data, dtype);
    }
    return make_call(call->op, {data, weight}, with_dtype(call->attrs, "out_dtype", kWide));
  }

  /// The call of a layer whose data the program has rounded to 16 bits, which it reads as they are; null for others.
  Expr with_narrow_data(const Call* call, const Array<Expr>& args) const {
    if (!machine_ || !takes_narrow_data(call)) return nullptr;
    const Expr data = narrow_form(args[0]);
    if (!data || !topi::widens_when_read(machine_, dtype_of(data))) return nullptr;
    return make_call(call->op, {data, args[1]}, with_dtype(call->attrs, "out_dtype", kWide));
  }

  static Expr typed(Expr expr, const Type& type) {
    expr->checked_type_ = type;
    return expr;
  }

  /// `value` is widened already.
  static Expr casted(const Expr& value, const Type& from, const Type& to) {
    const DataType source = from.as<TensorTypeNode>()->dtype, wanted = to.as<TensorTypeNode>()->dtype;
    if (!is_half_float(wanted)) return is_half_float(source) && wanted == kWide ? value : cast(value, wanted);
    return source == wanted ? value : cast(typed(cast(value, wanted), to), kWide);
  }

  /// The attributes with 32 bits for 16 in the type of a result.
  static Attrs with_wide(const Attrs& attrs) {
    if (!attrs) return attrs;
    Attrs out = attrs;
    for (const char* name : {"out_dtype", "dtype"}) {
      const Field* field = attrs->type()->find(name);
      if (field && field->kind == FieldKind::DType && is_half_float(field->at<DataType>(attrs.get())))
        out = with_dtype(out, name, kWide);
    }
    return out;
  }

  Rewriter rewriter_;
  topi::Machine machine_;
};

}  // namespace

/// Layers of fp32 get their constant weights in 16 bits where the target widens them as it reads them; nothing else changes.
Expr narrow_weights(const Expr& root, const GraphEnvironment& environment, DataType narrow) {
  const topi::Machine machine = topi::machine_of(environment.target);
  if (!topi::widens_when_read(machine, narrow)) return root;
  return rewrite(root, [&](Rewriter& self, const Call* call) -> Expr {
    Array<Expr> args = self(call->args);
    const bool narrows = takes_narrow_weight(call) && dtype_of(Expr(call)) == kWide &&
                         dtype_of(call->args[1]) == kWide && is_made_of_constants(call->args[1]) &&
                         reads_vectors(call, machine);
    if (!narrows) return with_args(call, args);
    args.set(1, cast(args[1], narrow));
    return make_call(call->op, args, with_dtype(call->attrs, "out_dtype", kWide));
  });
}

/// Layers get weights, and data that was made as narrow as them, of 32 bits.
Expr widen_weights(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    Array<Expr> args = self(call->args);
    if (takes_narrow_weight(call) && dtype_of(Expr(call)) == kWide)
      for (size_t i = 0; i < args.size(); ++i)
        if (has_narrow(checked_type(call->args[i]))) args.set(i, cast(args[i], kWide));
    return with_args(call, args);
  });
}

Function widen_floats(const Function& function, const GraphEnvironment& environment) {
  return is_plain(function) ? Widener(environment)(function) : function;
}

}  // namespace tessera::relay

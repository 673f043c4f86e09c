#include "op/gradient/gradient.h"

#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/slots.h"
#include "runtime/packed_func.h"

namespace tessera::op {

void set_gradients(std::initializer_list<GradientRow> rows) {
  for (const GradientRow& row : rows) {
    Gradient gradient = [f = row.gradient](const Expr& call, const Expr& grad) {
      return f(call.as<relay::Call>(), grad);
    };
    Op::get(row.name).set(relay::kGradient, Any(typed("gradient", std::move(gradient))));
  }
}

const TensorTypeNode* arg_type(const relay::Call* call, size_t i) {
  auto* type = relay::checked_type(call->args[i]).as<TensorTypeNode>();
  if (!type) throw Error(TypeError) << "the gradient of an operator needs the type of argument " << i << " as a tensor";
  return type;
}

int64_t known_extent(const TensorTypeNode* type, size_t dimension) {
  const int64_t* extent = as_int(type->shape[dimension]);
  if (!extent)
    throw Error(NotImplementedError) << "a gradient needs extent " << dimension << " of a tensor of shape "
                                     << to_text(type->shape) << " as a number";
  return *extent;
}

PrimExpr extent(int64_t value) { return make_const(DataType::Int(32), value); }

bool is_known(const TensorTypeNode* type) {
  for (const PrimExpr& extent : type->shape)
    if (!as_int(extent)) return false;
  return true;
}

Expr scalar_like(const relay::Call* call, size_t i, double value) {
  return relay::make_scalar(value, arg_type(call, i)->dtype);
}

Exprs zero_gradients(const relay::Call* call, const Expr&) {
  Exprs out;
  for (const Expr& arg : call->args) out.push_back(relay::zeros_like(arg));
  return out;
}

Expr summed_to_scalar(const Expr& grad) { return relay::sum(grad); }

Expr extent_of(const Expr& tensor, int dimension, DataType dtype) {
  auto* type = relay::checked_type(tensor).as<TensorTypeNode>();
  if (const int64_t* known = type ? as_int(type->shape[static_cast<size_t>(dimension)]) : nullptr)
    return relay::make_scalar(static_cast<double>(*known), dtype);
  Expr shape = relay::call_op("shape_of", {tensor},
                              relay::make_attrs<relay::ShapeOfAttrs>([](auto& a) { a.dtype = DataType::Int(64); }));
  Expr index = relay::make_scalar(dimension, DataType::Int(64));
  return relay::cast(relay::call_op("take", {shape, index},
                                    relay::make_attrs<relay::TakeAttrs>([](auto& a) { a.axis = PrimExpr(0); })),
                     dtype);
}

Expr element_count_of(const Expr& tensor, DataType dtype) {
  Expr out = relay::make_scalar(1, dtype);
  double known = 1;
  auto* type = relay::checked_type(tensor).as<TensorTypeNode>();
  for (size_t i = 0; i < type->shape.size(); ++i) {
    const int64_t* extent = as_int(type->shape[i]);
    if (extent) known *= static_cast<double>(*extent);
    else out = relay::multiply(out, extent_of(tensor, static_cast<int>(i), dtype));
  }
  return out.as<relay::Constant>() ? relay::make_scalar(known, dtype)
                                   : relay::multiply(out, relay::make_scalar(known, dtype));
}

Expr scatter_nd(const Expr& data, const Expr& indices, const Expr& updates, const char* mode) {
  return relay::call_op("scatter_nd", {data, indices, updates},
                        relay::make_attrs<relay::ScatterNDAttrs>([&](auto& a) { a.mode = mode; }));
}
Expr scatter_add(const Expr& data, const Expr& indices, const Expr& updates, int axis) {
  return relay::call_op("scatter_add", {data, indices, updates},
                        relay::make_attrs<relay::ScatterAddAttrs>([&](auto& a) { a.axis = axis; }));
}
Expr gather(const Expr& data, const Expr& indices, int axis) {
  return relay::call_op("gather", {data, indices},
                        relay::make_attrs<relay::GatherAttrs>([&](auto& a) { a.axis = PrimExpr(axis); }));
}
Expr gather_nd(const Expr& data, const Expr& indices) {
  return relay::call_op("gather_nd", {data, indices}, relay::make_attrs<relay::GatherNDAttrs>([](auto&) {}));
}

}  // namespace tessera::op

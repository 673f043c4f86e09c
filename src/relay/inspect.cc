#include "relay/inspect.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "relay/type/rule.h"
#include "relay/walk.h"
#include "runtime/function/element.h"

namespace tessera::relay {

std::string_view op_name(const Call* call) {
  auto* op = call ? call->op.as<OpNode>() : nullptr;
  return op ? std::string_view(op->name) : std::string_view();
}

const Call* as_call(const Expr& expr, std::string_view op) {
  auto* call = expr.as<Call>();
  return call && op_name(call) == op ? call : nullptr;
}

bool has_flag(const OpNode* op, const char* slot) {
  Any value = Op(op).slot(slot);
  return !value.is_null() && value.to<bool>();
}

std::optional<std::vector<int64_t>> fixed_ints(const Array<PrimExpr>& values) {
  std::vector<int64_t> out;
  for (const PrimExpr& value : values) {
    const int64_t* known = as_int(value);
    if (!known) return std::nullopt;
    out.push_back(*known);
  }
  return out;
}

std::optional<std::vector<int64_t>> fixed_shape(const Type& type) {
  auto* tensor = type.as<TensorTypeNode>();
  return tensor ? fixed_ints(tensor->shape) : std::nullopt;
}

bool is_same_extent(const PrimExpr& a, const PrimExpr& b) {
  const int64_t *left = as_int(a), *right = as_int(b);
  if (left || right) return left && right && *left == *right;
  return !is_any(a) && !is_any(b) && expr_equal(a, b);
}

bool is_same_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), is_same_extent);
}

Array<PrimExpr> int_array(const std::vector<int64_t>& values, DataType dtype) {
  Array<PrimExpr> out;
  for (int64_t value : values) out.push_back(int_imm(dtype, value));
  return out;
}

size_t rank_of(const Expr& expr) { return tensor_type(expr)->shape.size(); }
DataType dtype_of(const Expr& expr) { return tensor_type(expr)->dtype; }

/// Whether the elements of a constant are numbers that can be looked at here: only functions of the user's know what the
/// words of a custom type mean.
static bool has_numbers(const Constant* constant) {
  return constant && constant->data.device().device_type == kDLCPU && constant->data.dtype().code < DataType::kCustom;
}

std::optional<double> scalar_value(const Expr& expr) {
  auto* constant = expr.as<Constant>();
  if (!has_numbers(constant) || constant->data.size() != 1) return std::nullopt;
  return read_float(constant->data.dtype(), constant->data.data<char>());
}

bool is_filled_with(const Expr& expr, double value) {
  auto* constant = expr.as<Constant>();
  if (!has_numbers(constant)) return false;
  DataType dtype = constant->data.dtype();
  const char* data = constant->data.data<char>();
  for (int64_t i = 0, n = constant->data.size(); i < n; ++i)
    if (read_float(dtype, data + i * dtype.bytes()) != value) return false;
  return true;
}

std::optional<std::vector<int64_t>> constant_ints(const Expr& expr) {
  auto* constant = expr.as<Constant>();
  if (!constant || constant->data.device().device_type != kDLCPU) return std::nullopt;
  DataType dtype = constant->data.dtype();
  if (!dtype.is_int() && !dtype.is_uint()) return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t i = 0, n = constant->data.size(); i < n; ++i)
    out.push_back(read_int(dtype, constant->data.data<char>() + i * dtype.bytes()));
  return out;
}

std::unordered_map<const Object*, int> use_counts(const Expr& root) {
  std::unordered_map<const Object*, int> out;
  ++out[root.get()];
  post_order(root, [&](const Expr& expr) { each_child(expr, [&](const Expr& part) { ++out[part.get()]; }); });
  return out;
}

Expr with_args(const Call* call, Array<Expr> args) {
  bool same = args.size() == call->args.size();
  for (size_t i = 0; same && i < args.size(); ++i) same = args[i].same_as(call->args[i]);
  if (same) return Expr(call);
  Call copy(*call);
  copy.args = std::move(args);
  copy.checked_type_ = nullptr;
  return make(std::move(copy));
}

}  // namespace tessera::relay

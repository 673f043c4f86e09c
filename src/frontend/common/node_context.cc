#include "frontend/common/node_context.h"

#include "frontend/common/known.h"
#include "relay/inspect.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/infer_type.h"
#include "relay/type/type_of.h"
#include "relay/walk.h"
#include "runtime/function/element.h"

namespace tessera::frontend {

namespace {

const TensorTypeNode* tensor_type(const NodeContext& op, const Expr& expr) {
  Type type = relay::type_of(expr);
  auto* tensor = type.as<TensorTypeNode>();
  if (!tensor) op.invalid("a tensor is needed, but this is a tuple");
  return tensor;
}

}  // namespace

DataType NodeContext::dtype(const Expr& expr) const { return tensor_type(*this, expr)->dtype; }
size_t NodeContext::rank(const Expr& expr) const { return tensor_type(*this, expr)->shape.size(); }
Array<PrimExpr> NodeContext::shape(const Expr& expr) const { return tensor_type(*this, expr)->shape; }

size_t NodeContext::spatial(const Expr& expr) const {
  size_t count = rank(expr);
  if (count < 2) invalid("data of " + std::to_string(count) + " dimensions has no batch and channels");
  return count - 2;
}

std::optional<std::vector<int64_t>> NodeContext::fixed_shape(const Expr& expr) const {
  return relay::fixed_shape(relay::type_of(expr));
}

Ints NodeContext::static_shape(const Expr& expr, const char* what) const {
  std::optional<std::vector<int64_t>> out = fixed_shape(expr);
  if (!out) unknown(std::string(what) + " needs a fixed shape", expr);
  return *out;
}

int64_t NodeContext::static_extent(const Expr& expr, int axis, const char* what) const {
  const Array<PrimExpr> extents = shape(expr);
  if (static_cast<size_t>(axis) >= extents.size())
    invalid(std::string(what) + " needs a dimension " + std::to_string(axis));
  const int64_t* out = as_int(extents[static_cast<size_t>(axis)]);
  if (!out) unknown(std::string(what) + " needs a fixed extent of dimension " + std::to_string(axis), expr);
  return *out;
}

std::optional<NDArray> NodeContext::constant(const Expr& expr) const {
  if (auto* constant = expr.as<relay::Constant>()) return constant->data;
  relay::type_of(expr);
  Expr folded = relay::fold_constant(relay::infer_type(expr));
  if (auto* constant = folded.as<relay::Constant>()) return constant->data;
  return std::nullopt;
}

std::optional<std::vector<int64_t>> NodeContext::constant_ints(const Expr& expr) const {
  if (std::optional<std::vector<int64_t>> seen = seen_ints(expr)) return seen;  // most of what models do with shapes
  std::optional<NDArray> data = constant(expr);
  if (!data) return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < data->size(); ++i)
    out.push_back(read_int(data->dtype(), data->data<char>() + i * int64_t(data->dtype().bytes())));
  return out;
}

std::optional<double> NodeContext::constant_number(const Expr& expr) const {
  std::optional<NDArray> data = constant(expr);
  if (!data || data->size() != 1) return std::nullopt;
  return read_float(data->dtype(), data->data<char>());
}

int NodeContext::axis(int64_t given, size_t rank) const {
  auto count = static_cast<int64_t>(rank);
  if (given < -count || given >= count)
    invalid("axis " + std::to_string(given) + " of a tensor of " + std::to_string(rank) + " dimensions");
  return static_cast<int>(given < 0 ? given + count : given);
}

Ints NodeContext::needed_ints(const Expr& expr, const std::string& what) const {
  std::optional<std::vector<int64_t>> out = constant_ints(expr);
  if (!out) unknown(what + " must be known", expr);
  return *out;
}

void NodeContext::unknown(const std::string& what, const Expr& expr) const {
  constexpr int kMaxNames = 8;  // weights are among them, after the inputs that they are multiplied by
  std::string names;
  int count = 0;
  for (const relay::Var& var : relay::free_vars(expr))
    if (count++ < kMaxNames) names += (names.empty() ? "" : ", ") + std::string(var->name_hint());
  if (count > kMaxNames) names += " and " + std::to_string(count - kMaxNames) + " more";
  unsupported(what + " while importing; it depends on the inputs: " + names);
}

void NodeContext::unsupported(const std::string& what) const {
  throw Error(OpNotImplemented) << title() << ": " << what;
}

void NodeContext::invalid(const std::string& what) const { throw Error(ValueError) << title() << ": " << what; }

}  // namespace tessera::frontend

#include "frontend/common/known.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::frontend {
namespace {

using namespace relay;  // NOLINT: questions about expressions

constexpr int64_t kMaxElements = 64;

/// A search through an expression; it gives up after so many steps, so that shared parts cannot cost much.
class Search {
 public:
  std::optional<Element> look(const Expr& expr, int64_t index) {
    if (--steps_ < 0 || index < 0) return std::nullopt;
    if (auto* constant = expr.as<Constant>()) return of_constant(constant->data, index);
    auto* call = expr.as<relay::Call>();
    if (!call || call->args.empty()) return std::nullopt;
    std::string_view name = op_name(call);
    if (name == "cast" || name == "reshape" || name == "expand_dims" || name == "squeeze")
      return moved(expr, call, index);
    if (name == "shape_of") return of_shape(call->args[0], index);
    if (name == "concatenate") return of_parts(call, index);
    if (name == "take") return taken(call, index);
    if (name == "strided_slice") return sliced(call, index);
    return call->args.size() == 2 ? computed(name, call, index) : std::nullopt;
  }

 private:
  static std::optional<Element> number(int64_t value) { return Element{value, nullptr, -1}; }

  /// The extent of a tensor of no dimension or one; nothing for others and unknown ones.
  static std::optional<int64_t> length_of(const Expr& expr) {
    std::optional<std::vector<int64_t>> shape = fixed_shape(relay::type_of(expr));
    if (!shape || shape->size() > 1) return std::nullopt;
    return shape->empty() ? 1 : (*shape)[0];
  }
  static bool is_integer(const Expr& expr) {
    auto* type = relay::type_of(expr).as<TensorTypeNode>();
    return type && type->dtype.is_integral();
  }

  static std::optional<Element> of_constant(const NDArray& data, int64_t index) {
    if (!data.dtype().is_integral() || data.device().device_type != kDLCPU || index >= data.size()) return std::nullopt;
    return number(read_int(data.dtype(), data.data<char>() + index * int64_t(data.dtype().bytes())));
  }

  /// The elements keep their order.
  std::optional<Element> moved(const Expr& expr, const relay::Call* call, int64_t index) {
    if (!is_integer(expr) || !is_integer(call->args[0]) || !length_of(call->args[0])) return std::nullopt;
    std::optional<Element> out = look(call->args[0], index);
    auto* type = relay::type_of(expr).as<TensorTypeNode>();
    if (!out || !out->value || type->dtype.bits >= 32) return out;
    return std::nullopt;  // it may not fit
  }

  static std::optional<Element> of_shape(const Expr& tensor, int64_t index) {
    auto* type = relay::type_of(tensor).as<TensorTypeNode>();
    if (!type || index >= static_cast<int64_t>(type->shape.size())) return std::nullopt;
    if (const int64_t* extent = as_int(type->shape[static_cast<size_t>(index)])) return number(*extent);
    return Element{std::nullopt, tensor, static_cast<int>(index)};
  }

  std::optional<Element> of_parts(const relay::Call* call, int64_t index) {
    auto* parts = call->args[0].as<Tuple>();
    if (!parts) return std::nullopt;
    for (const Expr& part : parts->fields_) {
      std::optional<int64_t> length = length_of(part);
      if (!length) return std::nullopt;
      if (index < *length) return look(part, index);
      index -= *length;
    }
    return std::nullopt;
  }

  std::optional<Element> taken(const relay::Call* call, int64_t index) {
    auto* attrs = call->attrs_as<TakeAttrs>();
    std::optional<int64_t> length = length_of(call->args[0]);
    const int64_t* axis = attrs->axis.defined() ? as_int(attrs->axis) : nullptr;
    if (!length || (attrs->axis.defined() && (!axis || *axis != 0))) return std::nullopt;
    std::optional<Element> chosen = look(call->args[1], index);
    if (!chosen || !chosen->value) return std::nullopt;
    int64_t at = *chosen->value;
    if (at < 0 && !attrs->checked_as.empty()) at += *length;  // counted from the end
    if (at < 0 || at >= *length) return std::nullopt;
    return look(call->args[0], at);
  }

  std::optional<Element> sliced(const relay::Call* call, int64_t index) {
    auto* attrs = call->attrs_as<StridedSliceAttrs>();
    std::optional<int64_t> length = length_of(call->args[0]);
    if (!length || attrs->slice_mode != "end" || !attrs->begin.defined() || attrs->begin.size() != 1)
      return std::nullopt;
    const int64_t* begin = as_int(attrs->begin[0]);
    const int64_t* stride =
        attrs->strides.defined() && attrs->strides.size() == 1 ? as_int(attrs->strides[0]) : nullptr;
    if (!begin || (attrs->strides.defined() && attrs->strides.size() > 0 && !stride)) return std::nullopt;
    int64_t by = stride ? *stride : 1, first = *begin < 0 ? *begin + *length : *begin;
    if (by < 1) return std::nullopt;
    int64_t at = std::clamp<int64_t>(first, 0, *length) + index * by;
    return at < *length ? look(call->args[0], at) : std::nullopt;
  }

  /// Arithmetic of known numbers, also where one operand is a single number.
  std::optional<Element> computed(std::string_view name, const relay::Call* call, int64_t index) {
    int64_t numbers[2];
    for (size_t i = 0; i < 2; ++i) {
      std::optional<int64_t> length = length_of(call->args[i]);
      if (!length || !is_integer(call->args[i])) return std::nullopt;
      std::optional<Element> own = look(call->args[i], *length == 1 ? 0 : index);
      if (!own || !own->value) return std::nullopt;
      numbers[i] = *own->value;
    }
    int64_t a = numbers[0], b = numbers[1], out = 0;
    constexpr int64_t kLarge = int64_t{1} << 31;  // products of such numbers fit
    if (a <= -kLarge || a >= kLarge || b <= -kLarge || b >= kLarge) return std::nullopt;
    if (name == "add") out = a + b;
    else if (name == "subtract") out = a - b;
    else if (name == "multiply") out = a * b;
    else if (name == "divide" && b != 0) out = a / b;
    else if (name == "minimum") out = std::min(a, b);
    else if (name == "maximum") out = std::max(a, b);
    else if (name == "equal") out = a == b;
    else if (name == "not_equal") out = a != b;
    else if (name == "less") out = a < b;
    else if (name == "greater") out = a > b;
    else return std::nullopt;
    bool is_long = relay::type_of(call->args[0]).as<TensorTypeNode>()->dtype.bits == 64;
    if (!is_long && (out < INT32_MIN || out > INT32_MAX)) return std::nullopt;
    return number(out);
  }

  int steps_ = 2000;
};

}  // namespace

std::optional<Element> element_of(const Expr& integers, int64_t index) { return Search().look(integers, index); }

std::optional<std::vector<int64_t>> seen_ints(const Expr& integers) {
  auto* type = relay::type_of(integers).as<TensorTypeNode>();
  std::optional<std::vector<int64_t>> shape = fixed_shape(relay::type_of(integers));
  if (!type || !type->dtype.is_integral() || !shape || shape->size() > 1) return std::nullopt;
  int64_t count = shape->empty() ? 1 : (*shape)[0];
  if (count > kMaxElements) return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    std::optional<Element> element = element_of(integers, i);
    if (!element || !element->value) return std::nullopt;
    out.push_back(*element->value);
  }
  return out;
}

}  // namespace tessera::frontend

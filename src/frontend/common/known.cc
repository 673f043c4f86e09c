#include "frontend/common/known.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/type/rule.h"
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
    if (auto* item = expr.as<TupleGetItem>()) return of_split(item, index);
    auto* call = expr.as<relay::Call>();
    if (!call || call->args.empty()) return std::nullopt;
    std::string_view name = op_name(call);
    if (name == "cast" || name == "reshape" || name == "expand_dims" || name == "squeeze")
      return moved(expr, call, index);
    if (name == "shape_of") return of_shape(call->args[0], index);
    if (name == "ndarray_size") return of_size(call->args[0]);
    if (name == "concatenate") return of_parts(call, index);
    if (name == "take") return taken(call, index);
    if (name == "strided_slice") return sliced(call, index);
    if (name == "full" || name == "broadcast_to")
      return length_of(call->args[0]) == 1 ? look(call->args[0], 0) : std::nullopt;
    if (name == "where") return chosen(call, index);
    if (name == "prod" || name == "sum") return reduced(name, expr, call);
    return call->args.size() == 2 ? computed(name, call, index) : std::nullopt;
  }

 private:
  static std::optional<Element> number(int64_t value) { return Element{value, {}, nullptr, -1}; }
  std::optional<Element> of_expression(const PrimExpr& given) {
    PrimExpr simple = analyzer_.simplify(given);
    if (const int64_t* value = as_int(simple)) return number(*value);
    return Element{std::nullopt, simple, nullptr, -1};
  }

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
    if (!out || type->dtype.bits >= 32) return out;
    return std::nullopt;  // it may not fit
  }

  static std::optional<Element> of_shape(const Expr& tensor, int64_t index) {
    auto* type = relay::type_of(tensor).as<TensorTypeNode>();
    if (!type || index >= static_cast<int64_t>(type->shape.size())) return std::nullopt;
    const PrimExpr& extent = type->shape[static_cast<size_t>(index)];
    if (const int64_t* value = as_int(extent)) return number(*value);
    if (is_any(extent)) return Element{std::nullopt, {}, tensor, static_cast<int>(index)};
    return Element{std::nullopt, extent, nullptr, -1};
  }

  /// How many elements a tensor has.
  std::optional<Element> of_size(const Expr& tensor) {
    auto* type = relay::type_of(tensor).as<TensorTypeNode>();
    if (!type) return std::nullopt;
    PrimExpr out = PrimExpr(1);
    for (const PrimExpr& extent : type->shape) {
      if (is_any(extent)) return std::nullopt;
      out = out * extent;
    }
    return of_expression(out);
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

  std::optional<Element> of_split(const TupleGetItem* item, int64_t index) {
    auto* call = as_call(item->tuple, "split");
    auto* parts = call ? relay::type_of(item->tuple).as<TupleType>() : nullptr;
    if (!parts || !length_of(call->args[0])) return std::nullopt;
    for (int i = 0; i < item->index; ++i) {
      std::optional<std::vector<int64_t>> shape = fixed_shape(parts->fields_[static_cast<size_t>(i)]);
      if (!shape || shape->size() != 1) return std::nullopt;
      index += (*shape)[0];
    }
    return look(call->args[0], index);
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

  /// Element `index` of an argument, also where it is a single number for all.
  std::optional<Element> operand(const Expr& expr, int64_t index) {
    std::optional<int64_t> length = length_of(expr);
    if (!length || !is_integer(expr)) return std::nullopt;
    return look(expr, *length == 1 ? 0 : index);
  }

  std::optional<Element> chosen(const relay::Call* call, int64_t index) {
    std::optional<Element> condition = operand(call->args[0], index);
    if (!condition || !condition->value) return std::nullopt;
    return operand(call->args[*condition->value ? 1 : 2], index);
  }

  /// All elements of a vector as one.
  std::optional<Element> reduced(std::string_view name, const Expr& expr, const relay::Call* call) {
    std::optional<int64_t> length = length_of(call->args[0]);
    if (!length || length_of(expr) != 1 || *length > kMaxElements || !is_integer(expr)) return std::nullopt;
    PrimExpr out = PrimExpr(name == "prod" ? 1 : 0);
    for (int64_t i = 0; i < *length; ++i) {
      std::optional<Element> own = look(call->args[0], i);
      PrimExpr extent = own ? own->as_extent() : PrimExpr();
      if (!extent) return std::nullopt;
      out = name == "prod" ? out * extent : out + extent;
    }
    return of_expression(out);
  }

  std::optional<Element> computed(std::string_view name, const relay::Call* call, int64_t index) {
    std::optional<Element> a = operand(call->args[0], index), b = a ? operand(call->args[1], index) : std::nullopt;
    if (!a || !b) return std::nullopt;
    if (!a->value || !b->value) return of_names(name, a->as_extent(), b->as_extent());
    std::optional<int64_t> out = of_numbers(name, *a->value, *b->value);
    bool is_long = relay::type_of(call->args[0]).as<TensorTypeNode>()->dtype.bits == 64;
    if (!out || (!is_long && (*out < INT32_MIN || *out > INT32_MAX))) return std::nullopt;
    return number(*out);
  }

  static std::optional<int64_t> of_numbers(std::string_view name, int64_t a, int64_t b) {
    constexpr int64_t kLarge = int64_t{1} << 31;  // products of such numbers fit
    if (a <= -kLarge || a >= kLarge || b <= -kLarge || b >= kLarge) return std::nullopt;
    if (name == "add") return a + b;
    if (name == "subtract") return a - b;
    if (name == "multiply") return a * b;
    if (name == "divide" && b != 0) return a / b;
    if (name == "minimum") return std::min(a, b);
    if (name == "maximum") return std::max(a, b);
    if (name == "equal") return a == b;
    if (name == "not_equal") return a != b;
    if (name == "less") return a < b;
    if (name == "greater") return a > b;
    return std::nullopt;
  }

  /// Arithmetic with extents that have names, and comparisons that hold whatever those are.
  std::optional<Element> of_names(std::string_view name, const PrimExpr& a, const PrimExpr& b) {
    if (!a || !b) return std::nullopt;
    if (name == "add") return of_expression(a + b);
    if (name == "subtract") return of_expression(a - b);
    if (name == "multiply") return of_expression(a * b);
    if (name == "minimum") return of_expression(min(a, b));
    if (name == "maximum") return of_expression(max(a, b));
    if (name == "divide" || name == "floor_divide" || name == "floor_mod") {
      const int64_t* by = as_int(b);
      if (!by || *by < 1 || !analyzer_.can_prove_greater_equal(a, 0)) return std::nullopt;
      return of_expression(name == "floor_mod" ? floormod(a, b) : floordiv(a, b));
    }
    auto decided = [&](const PrimExpr& yes, const PrimExpr& no) -> std::optional<Element> {
      if (analyzer_.can_prove(yes)) return number(1);
      return analyzer_.can_prove(no) ? number(0) : std::nullopt;
    };
    if (name == "equal") return decided(equal(a, b), not_equal(a, b));
    if (name == "not_equal") return decided(not_equal(a, b), equal(a, b));
    if (name == "less") return decided(a < b, a >= b);
    if (name == "greater") return decided(a > b, a <= b);
    return std::nullopt;
  }

  int steps_ = 2000;
  arith::Analyzer analyzer_;
};

}  // namespace

PrimExpr Element::as_extent() const {
  if (!value) return extent;
  return *value < INT32_MIN || *value > INT32_MAX ? PrimExpr() : int_imm(DataType::Int(32), *value);
}

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

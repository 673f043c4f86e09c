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
    if (name == "strided_slice") return sliced(expr, call, index);
    if (name == "transpose") return transposed(expr, call, index);
    if (name == "full" || name == "broadcast_to")
      return length_of(call->args[0]) == 1 ? look(call->args[0], 0) : std::nullopt;
    if (name == "where") return chosen(expr, call, index);
    if (name == "prod" || name == "sum") return reduced(name, expr, call);
    return call->args.size() == 2 ? computed(name, expr, call, index) : std::nullopt;
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
  /// How many elements a tensor of fixed shape has; nothing for more than a few.
  static std::optional<int64_t> count_of(const Expr& expr) {
    std::optional<std::vector<int64_t>> shape = fixed_shape(relay::type_of(expr));
    int64_t out = 1;
    for (size_t i = 0; shape && i < shape->size(); ++i) {
      out *= (*shape)[i];
      if (out > kMaxElements) return std::nullopt;
    }
    return shape ? std::optional<int64_t>(out) : std::nullopt;
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
    if (!is_integer(expr) || !is_integer(call->args[0]) || !count_of(call->args[0])) return std::nullopt;
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
    return Element{std::nullopt, extent, tensor, static_cast<int>(index)};
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

  /// Element `index`, row by row, of a tensor whose element at a position is that of `from` at another one.
  template <class Map>
  std::optional<Element> mapped(const Expr& expr, const Expr& from, int64_t index, Map map) {
    std::optional<std::vector<int64_t>> own = fixed_shape(relay::type_of(expr)),
                                        shape = fixed_shape(relay::type_of(from));
    if (!own || !shape || !count_of(from)) return std::nullopt;
    std::vector<int64_t> position(own->size());
    for (size_t i = own->size(); i-- > 0; index /= std::max<int64_t>((*own)[i], 1))
      position[i] = index % std::max<int64_t>((*own)[i], 1);
    std::optional<std::vector<int64_t>> there = map(*shape, position);
    if (!there) return std::nullopt;
    int64_t at = 0;
    for (size_t i = 0; i < shape->size(); ++i) {
      if ((*there)[i] < 0 || (*there)[i] >= (*shape)[i]) return std::nullopt;
      at = at * (*shape)[i] + (*there)[i];
    }
    return look(from, at);
  }
  using Position = std::vector<int64_t>;

  std::optional<Element> transposed(const Expr& expr, const relay::Call* call, int64_t index) {
    const Array<PrimExpr>& axes = call->attrs_as<TransposeAttrs>()->axes;
    return mapped(expr, call->args[0], index, [&](const Position& shape, const Position& at) {
      Position out(shape.size());
      const auto rank = static_cast<int64_t>(shape.size());
      for (int64_t i = 0; i < rank; ++i) {
        const int64_t axis = axes.defined() ? *as_int(axes[static_cast<size_t>(i)]) : rank - 1 - i;
        out[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = at[static_cast<size_t>(i)];
      }
      return std::optional(out);
    });
  }

  std::optional<Element> sliced(const Expr& expr, const relay::Call* call, int64_t index) {
    auto* attrs = call->attrs_as<StridedSliceAttrs>();
    if (attrs->slice_mode != "end" || !attrs->begin.defined()) return std::nullopt;
    return mapped(
        expr, call->args[0], index, [&](const Position& shape, const Position& at) -> std::optional<Position> {
          Position out = at;
          for (size_t i = 0; i < attrs->begin.size(); ++i) {
            int64_t axis = attrs->axes.defined() ? *as_int(attrs->axes[i]) : static_cast<int64_t>(i);
            if (axis < 0) axis += static_cast<int64_t>(shape.size());
            const int64_t length = shape.at(static_cast<size_t>(axis)), *begin = as_int(attrs->begin[i]);
            const bool has_stride = attrs->strides.defined() && attrs->strides.size() > 0;
            const PrimExpr stride = has_stride ? attrs->strides[attrs->strides.size() == 1 ? 0 : i] : PrimExpr(1);
            if (!begin || !as_int(stride)) return std::nullopt;
            const int64_t by = *as_int(stride), first = *begin < 0 ? *begin + length : *begin;
            const int64_t start =
                by > 0 ? std::clamp<int64_t>(first, 0, length) : std::clamp<int64_t>(first, -1, length - 1);
            int64_t& own = out[static_cast<size_t>(axis)];
            own = start + own * by;
          }
          return out;
        });
  }

  /// Element `index` of an argument of `expr`, also where it is a single number for all.
  std::optional<Element> operand(const Expr& arg, const Expr& expr, int64_t index) {
    std::optional<int64_t> count = count_of(arg);
    if (!count || !is_integer(arg)) return std::nullopt;
    if (*count == 1) return look(arg, 0);
    if (fixed_shape(relay::type_of(arg)) != fixed_shape(relay::type_of(expr))) return std::nullopt;
    return look(arg, index);
  }

  std::optional<Element> chosen(const Expr& expr, const relay::Call* call, int64_t index) {
    std::optional<Element> condition = operand(call->args[0], expr, index);
    if (!condition || !condition->value) return std::nullopt;
    return operand(call->args[*condition->value ? 1 : 2], expr, index);
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

  std::optional<Element> computed(std::string_view name, const Expr& expr, const relay::Call* call, int64_t index) {
    std::optional<Element> a = operand(call->args[0], expr, index),
                           b = a ? operand(call->args[1], expr, index) : std::nullopt;
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
    if (name == "floor_divide" && b > 0) return (a - (a % b + b) % b) / b;
    if (name == "floor_mod" && b > 0) return (a % b + b) % b;
    if (name == "mod" && b != 0) return a % b;
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

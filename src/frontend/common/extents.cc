#include "frontend/common/extents.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/rule.h"
#include "relay/type/type_of.h"
#include "relay/walk.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

bool same_extent(const PrimExpr& a, const PrimExpr& b) {
  const int64_t *x = as_int(a), *y = as_int(b);
  if (x && y) return *x == *y;
  if (is_any(a) || is_any(b)) return false;
  return expr_equal(a, b) || arith::Analyzer().can_prove_equal(a, b);
}

bool same_extents(const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_extent);
}

Type without_names(const Type& type) {
  return tessera::rewrite(type, [](const TensorTypeNode* tensor) -> Type {
    Array<PrimExpr> shape = tensor->shape;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!as_int(shape[i]) && !is_any(shape[i])) shape.set(i, op::any_extent());
    return with(tensor, &TensorTypeNode::shape, shape);
  });
}

void forget_names(const Expr& root) {
  auto forget = [](const Expr& expr) {
    if (!expr.as<OpNode>() && !expr.as<relay::Constant>()) expr->checked_type_ = nullptr;
  };
  relay::post_order(root, forget, true);
}

std::optional<std::vector<PrimExpr>> seen_extents(const NodeContext& in, const Expr& integers) {
  if (in.rank(integers) != 1) return std::nullopt;
  const int64_t* count = as_int(in.shape(integers)[0]);
  constexpr int64_t kMaxExtents = 64;  // more is no shape
  if (!count || *count > kMaxExtents) return std::nullopt;
  std::vector<PrimExpr> out;
  for (int64_t i = 0; i < *count; ++i) {
    std::optional<Element> element = element_of(integers, i);
    out.push_back(element ? element->as_extent() : PrimExpr());
  }
  return out;
}

namespace {

/// Numbers that mean extents to Relay's reshape: 0 is the next extent of the data, -3 two of them as one, -4 one as two.
class ReshapeNumbers {
 public:
  explicit ReshapeNumbers(const Array<PrimExpr>& from) : from_(from) {}

  std::optional<std::vector<int64_t>> of(const std::vector<PrimExpr>& to) {
    for (size_t i = 0; i < to.size(); ++i) {
      const int64_t* number = to[i] ? as_int(to[i]) : nullptr;
      if (number && *number == 0) return std::nullopt;  // which would mean another extent
      if (!to[i] || (number && *number < 0)) {
        if (!open()) return std::nullopt;
      } else if (i + 1 < to.size() && halves(to[i], to[i + 1])) {
        ++i;
      } else if (number && has_name(to, i + 1) && parts_of_number(to, i)) {
        ++i;
      } else if (number) {
        if (has_name(to, i + 1) && is_merged(*number)) say(-3), ++next_;
        else say(*number);
      } else if (next_ < from_.size() && same_extent(from_[next_], to[i])) {
        say(0);
      } else if (next_ + 1 < from_.size() && is_product(from_[next_], from_[next_ + 1], to[i])) {
        say(-3), ++next_;
      } else if (!open()) {
        return std::nullopt;
      }
    }
    return out_;
  }

 private:
  void say(int64_t number) {
    out_.push_back(number);
    ++next_;
  }
  /// What the other extents leave; one may be that.
  bool open() {
    if (is_open_) return false;
    is_open_ = true;
    say(-1);
    return true;
  }
  static bool is_product(const PrimExpr& a, const PrimExpr& b, const PrimExpr& whole) {
    return !is_any(a) && !is_any(b) && same_extent(a * b, whole);
  }
  /// The next extent of the data, which has a name, is the product of two of which one is a number.
  bool halves(const PrimExpr& a, const PrimExpr& b) {
    if (next_ >= from_.size() || as_int(from_[next_]) || !b) return false;
    const int64_t *x = as_int(a), *y = as_int(b);
    if ((x == nullptr) == (y == nullptr) || (x && *x < 1) || (y && *y < 1)) return false;
    const PrimExpr& whole = from_[next_];
    if (same_extent(whole, a) || is_any(whole)) return false;
    if (!is_product(a, b, whole) && !same_extent(x ? b : a, floordiv(whole, x ? a : b))) return false;
    out_.push_back(-4);
    out_.push_back(x ? *x : -1);
    say(y ? *y : -1);
    return true;
  }

  static bool has_name(const std::vector<PrimExpr>& to, size_t begin) {
    for (size_t i = begin; i < to.size(); ++i)
      if (to[i] && !as_int(to[i])) return true;
    return false;
  }
  const int64_t* known(size_t i) const { return i < from_.size() ? as_int(from_[i]) : nullptr; }
  /// Two extents of the data that are numbers are one of the result.
  bool is_merged(int64_t number) const {
    const int64_t *a = known(next_), *b = known(next_ + 1);
    return a && b && *a != number && *a * *b == number;
  }
  /// One is two of the result.
  bool parts_of_number(const std::vector<PrimExpr>& to, size_t i) {
    const int64_t *whole = known(next_), *a = as_int(to[i]),
                  *b = i + 1 < to.size() && to[i + 1] ? as_int(to[i + 1]) : nullptr;
    if (!whole || !b || *b < 1 || *a == *whole || *a * *b != *whole) return false;
    out_.push_back(-4);
    out_.push_back(*a);
    say(*b);
    return true;
  }

  const Array<PrimExpr>& from_;
  std::vector<int64_t> out_;
  size_t next_ = 0;
  bool is_open_ = false;
};

}  // namespace

Expr reshaped_to(const NodeContext& in, const Expr& x, std::vector<PrimExpr> extents) {
  const Array<PrimExpr> from = in.shape(x);
  auto numbers = ReshapeNumbers(from).of(extents);
  if (!numbers) return nullptr;
  return call_op("reshape", {x}, make_attrs<ReshapeAttrs>([&](auto& attrs) { attrs.newshape = int_array(*numbers); }));
}

Expr reshaped_like_another(const NodeContext& in, const Expr& x, const Expr& integers,
                           const std::vector<PrimExpr>& extents) {
  const Array<PrimExpr> own = in.shape(x);
  size_t at = 0;
  while (at < own.size() && at < extents.size() && extents[at] && same_extent(own[at], extents[at])) ++at;
  if (at >= own.size() || is_any(own[at])) return nullptr;
  size_t end = at;
  PrimExpr all = PrimExpr(1);
  while (end < extents.size() && extents[end] && (end < at + 2 || !same_extent(all, own[at])))
    all = all * extents[end++];
  if (end < at + 2 || !same_extent(all, own[at])) return nullptr;
  auto begins_at = [&](const Expr& other, size_t axis) {
    const Array<PrimExpr> shape = in.shape(other);
    if (axis + (end - at) > shape.size()) return false;
    for (size_t i = at; i < end; ++i)
      if (!same_extent(shape[axis + i - at], extents[i])) return false;
    return true;
  };
  for (size_t i = at; i < end; ++i) {
    std::optional<Element> element = element_of(integers, static_cast<int64_t>(i));
    const size_t before = i - at, axis = element ? static_cast<size_t>(element->axis) : 0;
    if (!element || !element->tensor || axis < before || !begins_at(element->tensor, axis - before)) continue;
    const int first = static_cast<int>(at), count = static_cast<int>(end - at), like = static_cast<int>(axis - before);
    Expr out = reshaped_as(x, first, first + 1, element->tensor, like, like + count);
    return end == extents.size() && at + 1 == own.size() ? out : reshaped_to(in, out, extents);
  }
  return nullptr;
}

Expr reshaped_as(const Expr& x, int begin, int end, const Expr& like, int like_begin, int like_end) {
  return call_op("reshape_like", {x, like}, make_attrs<ReshapeLikeAttrs>([&](auto& attrs) {
                   attrs.lhs_begin = begin;
                   attrs.lhs_end = PrimExpr(end);
                   attrs.rhs_begin = like_begin;
                   attrs.rhs_end = PrimExpr(like_end);
                 }));
}

Expr positions_along(const NodeContext& in, const Expr& x, int axis) {
  if (const int64_t* extent = as_int(in.shape(x)[static_cast<size_t>(axis)])) {
    std::vector<int64_t> out(static_cast<size_t>(*extent));
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i);
    return make_ints(out);
  }
  return reshaped_as(call_op("dyn.iota", {extent_at_run_time(in, x, axis)}), 0, 1, x, axis, axis + 1);
}

Expr merged(Expr x, int begin, int end) {
  constexpr int kMergeTwo = -3, kAllOthers = -2;
  std::vector<int64_t> numbers(static_cast<size_t>(begin), 0);
  numbers.insert(numbers.end(), {kMergeTwo, kAllOthers});
  for (int i = begin + 1; i < end; ++i) x = reshape(x, int_array(numbers));
  return x;
}

}  // namespace tessera::frontend

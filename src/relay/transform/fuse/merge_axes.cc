// JoinReducedAxes: a reduction over several last axes of a tensor that lies in memory goes over one axis of as many
// elements, of which there are vectors.
//
//   mean(%x, axis=[2, 3], keepdims=True)   =>   reshape(mean(reshape(%x, newshape=[1, 64, 196]), axis=[2]), ...)
//
// One over all axes goes by rows, and then over the results of the rows: threads share rows, and sums of many numbers
// lose less. Rows of a dynamic shape are its last axis or its last two. Pools over whole images without blocks of channels are such reductions. Those that FuseRows took are left
// alone.

#include <algorithm>
#include <optional>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

using Shape = std::vector<int64_t>;
constexpr int kDeepest = 8;  // functions of elements before a reduction
/// A reduction of at least so many elements to one number goes by rows of which none is longer than the second.
constexpr int64_t kManyElements = 4096, kMaxMergedRow = 4096;

int64_t elements(const Shape& shape) {
  int64_t out = 1;
  for (int64_t extent : shape) out *= extent;
  return out;
}

/// The longest rows into which so many elements can be split; all of them where only short ones do.
int64_t longest_row(int64_t total) {
  constexpr int64_t kShortRow = 64;
  for (int64_t length = kMaxMergedRow; length >= kShortRow; --length)
    if (total % length == 0) return length;
  return total;
}

/// The shape as reshape takes it: numbers, and 0 for dynamic extents, which stay as they are; nothing where there are no elements.
constexpr int64_t kStays = 0, kTwoMerged = -3;
std::optional<Shape> reshapable(const Type& type) {
  auto* tensor = type.as<TensorTypeNode>();
  if (!tensor) return std::nullopt;
  Shape out;
  for (const PrimExpr& extent : tensor->shape) {
    const int64_t* known = as_int(extent);
    if (known && *known == 0) return std::nullopt;
    out.push_back(known ? *known : kStays);
  }
  return out;
}

/// The last axes as one: by division where all of the others are numbers, so that none is 0.
std::optional<int64_t> merged_axis(const Shape& shape, size_t count) {
  const auto last = shape.end() - static_cast<long>(count);
  const auto first = shape.begin() + (shape.front() == kStays && count < shape.size() ? 1 : 0);
  const bool has_dynamic =
      std::find(last, shape.end(), kStays) != shape.end() || std::find(first, last, kStays) != last;
  if (!has_dynamic) return -1;
  if (count == 2) return kTwoMerged;
  return std::find(shape.begin(), last, kStays) == last ? std::optional<int64_t>(-1) : std::nullopt;
}

bool is_dynamic(const Shape& shape) { return std::find(shape.begin(), shape.end(), kStays) != shape.end(); }

/// How many of the last axes of a dynamic shape are a row.
size_t row_axes(const Shape& shape) {
  constexpr int64_t kLongRow = 64;
  const bool is_long = shape.back() >= kLongRow || (shape.back() == kStays && shape.size() == 2);
  return is_long || shape.size() == 1 ? 1 : 2;
}

/// A tensor of so many axes, of which all or all but the last `count` stay, as rows for `reshape`.
Shape as_rows(size_t rank, size_t count) {
  if (count == rank) return {1, -1};
  Shape out(rank - count, kStays);
  out.push_back(count == 1 ? kStays : kTwoMerged);
  return out;
}

/// The operator that reduces the last axes, and how many they are.
struct LastAxes {
  Expr op;
  size_t count = 0;
};

LastAxes last_axes(const Call* call, size_t rank) {
  const Reduction kind = reduction_of(call);
  if (kind == Reduction::None || kind == Reduction::Variance) return {};
  if (auto* pool = call->attrs.as<GlobalPool2DAttrs>())
    return {Op::get(kind == Reduction::Mean ? ops::mean : ops::max), pool->layout == "NCHW" ? size_t(2) : 0};
  auto* attrs = cast_or_null<ReduceAttrs>(call->attrs.get());
  if (attrs && !attrs->axis && !attrs->exclude) return {call->op, rank};
  auto axes = attrs && attrs->axis && !attrs->exclude ? fixed_ints(attrs->axis) : std::nullopt;
  if (!axes) return {};
  for (int64_t& axis : *axes)
    if (axis < 0) axis += static_cast<int64_t>(rank);
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != static_cast<int64_t>(rank - axes->size() + i)) return {};
  return {call->op, axes->size()};
}

/// Whether each element of the result is a function of the element at the same place of the only argument: zeros and full
/// are fused as such functions, and take a shape or a number instead.
bool maps_elements(const Call* call) {
  if (call->args.size() != 1 || fusion_of(Op(call->op.as<OpNode>())) != Fusion::Elementwise) return false;
  auto from = reshapable(checked_type(call->args[0])), to = reshapable(checked_type(Expr(call)));
  return from && from == to;
}

class AxisMerger {
 public:
  explicit AxisMerger(const Expr& body) : consumers_(body) {
    rewriter_.on([this](const Call* call) { return on(call); });
    rewriter_.on([](Rewriter& self, const FunctionNode* function) -> Expr {
      return function->attrs.is_true(attr::kPrimitive) ? Expr(function) : Expr(self.children(function));
    });
  }
  Expr operator()(const Expr& body) { return rewriter_(body); }

 private:
  Expr on(const Call* call) {
    Expr same = with(with(call, &Call::op, rewriter_(call->op)), &Call::args, rewriter_(call->args));
    if (!call->op.as<OpNode>() || call->args.empty()) return same;
    auto shape = reshapable(checked_type(call->args[0])), result = reshapable(checked_type(Expr(call)));
    if (!shape || !result) return same;
    LastAxes axes = last_axes(call, shape->size());
    const bool is_all = axes.count == shape->size();
    if (is_all && is_dynamic(*shape)) {
      Expr out = of_dynamic_shape(call, *shape, axes.op);
      return out ? placed(Expr(call), reshape(out, int_array(*result))) : same;
    }
    if (is_all ? elements(*shape) < kManyElements : axes.count < 2) return same;
    const std::optional<int64_t> merged = is_all ? -1 : merged_axis(*shape, axes.count);
    if (!merged) return same;
    Shape rows(shape->begin(), shape->end() - static_cast<long>(axes.count));
    if (is_all) rows.push_back(elements(*shape) / longest_row(elements(*shape)));
    rows.push_back(*merged);
    Expr row = in_shape(call->args[0], rows, kDeepest);
    if (!row) return same;
    Expr out = reduced(call, axes.op, row, rows.size() - 1);
    if (is_all) out = in_one_row(call, axes.op, out);
    return !is_all && result->size() + 1 == rows.size() ? out : placed(Expr(call), reshape(out, int_array(*result)));
  }

  /// A reduction of all elements, by rows. Null where the elements are computed by another kernel.
  Expr of_dynamic_shape(const Call* call, const Shape& shape, const Expr& op) {
    const size_t count = row_axes(shape);
    const Shape rows = as_rows(shape.size(), count);
    Expr row = in_shape(call->args[0], rows, kDeepest);
    if (!row) return nullptr;
    Expr out = reduced(call, op, row, rows.size() - 1);
    return count == shape.size() ? out : in_one_row(call, op, out);
  }

  static Expr reduced(const Call* call, const Expr& op, const Expr& of, size_t axis) {
    auto attrs = make_attrs<ReduceAttrs>([&](auto& a) { a.axis = int_array({static_cast<int64_t>(axis)}); });
    return placed(Expr(call), make_call(op, {of}, attrs));
  }
  static Expr in_one_row(const Call* call, const Expr& op, const Expr& of) {
    return reduced(call, op, placed(Expr(call), reshape(of, int_array({1, -1}))), 1);
  }

  /// On the device of another.
  static Expr placed(const Expr& like, Expr expr) {
    expr->virtual_device_ = like->virtual_device_;
    return expr;
  }

  /// The value in another shape; functions of elements that will be computed in the kernel take it on before. Null where
  /// something else will.
  Expr in_shape(const Expr& expr, const Shape& shape, int depth) {
    if (is_in_memory(expr)) return placed(expr, reshape(rewriter_(expr), int_array(shape)));
    auto* call = expr.as<Call>();
    if (!call || depth == 0 || !maps_elements(call)) return nullptr;
    Expr from = in_shape(call->args[0], shape, depth - 1);
    return from ? placed(expr, with_args(call, {from})) : nullptr;
  }

  /// A value that no kernel but its own would compute.
  bool is_in_memory(const Expr& expr) const {
    auto* call = expr.as<Call>();
    if (!call) return !expr.as<TupleGetItem>();
    auto* op = call->op.as<OpNode>();
    return !op || consumers_.of(expr).size() > 1 || fusion_of(Op(op)) > Fusion::Injective;
  }

  Rewriter rewriter_;
  Consumers consumers_;
};

}  // namespace

Expr merge_reduced_axes(const Expr& body) { return AxisMerger(body)(body); }

}  // namespace tessera::relay

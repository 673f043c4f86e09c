// FuseRows: functions of elements with reductions along their last axes between them become one kernel, in which one row
// after the other goes through all of it: layer normalisation and its like, as exporters and SimplifyInference write it.
//
//   %0 = mean(%x, axis=[-1], keepdims=True); %1 = subtract(%x, %0); %2 = mean(multiply(%1, %1), ...); ...
//     =>   fn (%x, %gamma, %beta, Primitive=1, tessera.rule="rows") { ... }
//
// A reduction alone, with what FuseOps puts before it, is left to FuseOps; so are functions of elements that follow a
// matmul, into which they go. On GPUs rows may have fp16 and bf16 in them, and a last transposition that leaves rows whole goes along.

#include <algorithm>
#include <optional>

#include "ir/prim/ops.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

constexpr int64_t kMinRow = 16;
constexpr int64_t kMinLast = 7;       // of several axes of a row: half of a vector is worth it
constexpr int64_t kMaxRow = 1 << 16;  // a row and what is computed of it should stay near
constexpr size_t kMaxRowMembers = 48;

using Shape = Array<PrimExpr>;

/// The shape where its last dimension is a number; those before it may be dynamic.
std::optional<Shape> shape_of_rows(const Expr& expr) {
  auto* type = checked_type(expr).as<TensorTypeNode>();
  if (!type || type->shape.empty() || !as_int(type->shape.back())) return std::nullopt;
  return type->shape;
}

class RowFinder {
 public:
  RowFinder(const Expr& body, bool is_gpu) : consumers_(body), is_gpu_(is_gpu) {
    for (const Expr& expr : consumers_.expressions())
      if (is_of_elements(expr) && comes_from_matmul(expr.as<Call>())) with_matmul_.insert(expr.get());
  }

  std::vector<KernelGroup> operator()() {
    std::vector<KernelGroup> out;
    const std::vector<Expr>& all = consumers_.expressions();
    for (size_t i = all.size(); i-- > 0;) {
      const Expr root = moves_rows(all[i]) ? all[i].as<Call>()->args[0] : all[i];
      if (taken_.count(all[i].get()) || !is_of_elements(root)) continue;
      auto shape = shape_of_rows(root);
      if (!shape || shape->size() < 2 || *as_int(shape->back()) < kMinLast) continue;
      KernelGroup group = grow(root, *shape);
      if (!group.root) continue;
      group.root = all[i].get();
      group.members.insert(group.root);
      taken_.insert(group.members.begin(), group.members.end());
      out.push_back(std::move(group));
    }
    return out;
  }

 private:
  static Fusion kind_of(const Expr& expr) {
    auto* call = expr.as<Call>();
    auto* op = call ? call->op.as<OpNode>() : nullptr;
    return op ? fusion_of(Op(op)) : Fusion::Opaque;
  }
  bool is_computed(DataType dtype) const {
    return dtype == DataType::Float(32) || (is_gpu_ && dtype.is_floating() && dtype.bits == 16);
  }
  bool is_of_elements(const Expr& expr) const {
    return expr.as<Call>() && kind_of(expr) <= Fusion::Broadcast && is_computed(dtype_of(expr));
  }

  /// On a GPU, the only consumer of functions of elements, which it transposes, but for their last axis.
  bool moves_rows(const Expr& expr) const {
    auto* call = expr.as<Call>();
    if (!is_gpu_ || !call || op_name(call) != ops::transpose || consumers_.of(call->args[0]).size() != 1) return false;
    auto axes = fixed_ints(call->attrs_as<TransposeAttrs>()->axes);
    const auto rank = static_cast<int64_t>(rank_of(expr));
    return axes && !axes->empty() && (axes->back() == -1 || axes->back() + 1 == rank) &&
           !with_matmul_.count(call->args[0].get());
  }

  /// How many elements of `row` one of `shape` stands for: the last dimensions of the row are ones. 0 for other shapes.
  static int64_t number_for(const Shape& shape, const Shape& row) {
    if (shape.size() != row.size()) return 0;
    size_t left = row.size();
    int64_t count = 1;
    while (left > 0 && is_one(shape[left - 1])) {
      const int64_t* extent = as_int(row[left - 1]);
      if (!extent) break;
      count *= *extent;
      --left;
    }
    for (size_t i = 0; i < left; ++i)
      if (!is_same_extent(shape[i], row[i])) return 0;
    return count > 1 ? count : 0;
  }

  /// Reduces `row` over its last axes, keeping them.
  bool is_reduction(const Expr& expr, const Shape& row) const {
    auto* call = expr.as<Call>();
    const Reduction kind = call ? reduction_of(call) : Reduction::None;
    if (!goes_by_rows(kind)) return false;
    auto* attrs = cast_or_null<ReduceAttrs>(call->attrs.get());
    if (!attrs || attrs->exclude || !attrs->keepdims || !attrs->axis) return false;
    auto axes = fixed_ints(attrs->axis);
    auto from = shape_of_rows(call->args[0]);
    if (!axes || axes->empty() || axes->size() >= row.size() || !from || !is_same_shape(*from, row) ||
        !is_computed(dtype_of(expr)))
      return false;
    for (int64_t& axis : *axes)
      if (axis < 0) axis += static_cast<int64_t>(row.size());
    std::sort(axes->begin(), axes->end());
    if (kind == Reduction::Variance) {  // of what is left after a mean of the same rows
      auto* mean = checked_type(call->args[1]).as<TensorTypeNode>();
      if (!mean || !is_same_shape(mean->shape, tensor_type(expr)->shape)) return false;
    }
    for (size_t i = 0; i < axes->size(); ++i)
      if ((*axes)[i] != static_cast<int64_t>(row.size() - axes->size() + i)) return false;
    return true;
  }

  /// True for what FuseOps will put into the matmul that it comes from.
  bool comes_from_matmul(const Call* call) const {
    return std::any_of(call->args.begin(), call->args.end(), [&](const Expr& arg) {
      return consumers_.of(arg).size() == 1 &&
             (kind_of(arg) == Fusion::OutputElementwise || with_matmul_.count(arg.get()));
    });
  }

  /// All that leads to `root` and is read by nothing else: rows, and numbers of rows.
  KernelGroup grow(const Expr& root, const Shape& row) {
    KernelGroup group;
    group.members.insert(root.get());
    size_t reductions = 0;
    int64_t length = 0;  // of a row, once a number of one is found
    std::vector<Expr> open{root};
    while (!open.empty()) {
      Expr at = open.back();
      open.pop_back();
      for (const Expr& arg : at.as<Call>()->args) {
        if (group.members.count(arg.get()) || taken_.count(arg.get()) || !arg.as<Call>()) continue;
        if (group.members.size() >= kMaxRowMembers) continue;
        const auto& consumers = consumers_.of(arg);
        if (!std::all_of(consumers.begin(), consumers.end(),
                         [&](const RelayExprNode* consumer) { return consumer && group.members.count(consumer); }))
          continue;
        auto shape = shape_of_rows(arg);
        const int64_t count = shape ? number_for(*shape, row) : 0;
        const bool is_row = shape && is_same_shape(*shape, row);
        if (!is_row && (!count || (length && count != length))) continue;
        const bool reduces = is_reduction(arg, row);
        if (!reduces && (!is_of_elements(arg) || with_matmul_.count(arg.get()))) continue;
        reductions += reduces;
        if (!is_row) length = count;
        group.members.insert(arg.get());
        open.push_back(arg);
      }
    }
    if (reductions > 0 && length >= kMinRow && length <= kMaxRow) {
      group.root = root.get();
      group.rule = "rows";
    }
    return group;
  }

  Consumers consumers_;
  bool is_gpu_;
  std::unordered_set<const Object*> taken_;
  std::unordered_set<const Object*> with_matmul_;  // functions of elements of one
};

}  // namespace

Expr fuse_rows(const Expr& body, const GraphEnvironment& environment) {
  const bool is_gpu = environment.target && environment.target.has_key("gpu");
  return close_groups(body, RowFinder(body, is_gpu)());
}

}  // namespace tessera::relay

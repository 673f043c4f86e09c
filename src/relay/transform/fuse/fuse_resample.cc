// FuseResample: images that are resized along their last axis, and along the one before it, become one kernel. What is read along
// the last axis stays in the kernel as numbers, so that a vector of the result is a few vectors of the data, shuffled.
//
//   %0 = take(%x, rows, axis=2); take(%0, columns, axis=3)   =>   fn (%x, %rows, Primitive=1, tessera.rule="resample") { ... }
//
// Where the extents of the result are known only at run time, columns are tables that the kernel reads, as rows are.

#include <algorithm>

#include "relay/attrs/index.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/fuse/resampling.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

constexpr size_t kMaxTaps = 16;

/// take(data, a list, axis)
bool add_take(const Expr& expr, Resampling* out) {
  const Call* call = as_call(expr, ops::take);
  if (!call || rank_of(call->args[1]) != 1) return false;
  auto* attrs = call->attrs_as<TakeAttrs>();
  const int64_t* axis = attrs->axis ? as_int(attrs->axis) : nullptr;
  if (!axis || attrs->batch_dims != 0) return false;
  const auto rank = static_cast<int64_t>(rank_of(call->args[0]));
  const int64_t at = *axis < 0 ? *axis + rank : *axis;
  if (out->data && (!out->data.same_as(call->args[0]) || out->axis != at)) return false;
  out->data = call->args[0];
  out->axis = at;
  out->indices.push_back(call->args[1]);
  out->calls.push_back(call);
  return true;
}

/// One number for each index along the axis; dimensions are matched from the right.
bool is_along(const Expr& weight, int64_t axis, size_t rank) {
  auto* type = checked_type(weight).as<TensorTypeNode>();
  if (!type || type->shape.size() > rank) return false;
  const auto missing = static_cast<int64_t>(rank - type->shape.size());
  for (size_t i = 0; i < type->shape.size(); ++i)
    if (!is_one(type->shape[i]) && static_cast<int64_t>(i) + missing != axis) return false;
  return axis >= missing;
}

/// So many results as a run decides, of elements that are the last ones where an index lies outside.
bool is_dynamic(const Resampling& axis) {
  return std::ranges::all_of(axis.calls, [](const Call* call) {
    if (op_name(call) != ops::take) return true;
    auto* attrs = call->attrs_as<TakeAttrs>();
    return !fixed_shape(checked_type(call->args[1])) && attrs->mode != "wrap" && !attrs->checked_as.defined();
  });
}

bool add_weighted(const Expr& expr, Resampling* out) {
  const Call* call = as_call(expr, ops::multiply);
  if (!call || !add_take(call->args[0], out) || !is_along(call->args[1], out->axis, rank_of(expr))) return false;
  out->weights.push_back(call->args[1]);
  out->calls.push_back(call);
  return true;
}

}  // namespace

std::optional<Resampling> resampling_of(const Expr& expr) {
  Resampling out;
  if (add_take(expr, &out)) return out;
  std::vector<const Call*> sums;
  Expr at = expr;
  for (const Call* sum = as_call(at, ops::add); sum && sums.size() < kMaxTaps; sum = as_call(at, ops::add)) {
    sums.push_back(sum);
    at = sum->args[0];
  }
  if (!add_weighted(at, &out)) return {};
  for (; !sums.empty(); sums.pop_back()) {
    if (!add_weighted(sums.back()->args[1], &out)) return {};
    out.calls.push_back(sums.back());
  }
  return out;
}

std::optional<topi::ResampledAxis> numbers_of(const Resampling& axis) {
  topi::ResampledAxis out;
  auto shape = fixed_shape(checked_type(axis.data));
  if (!shape) return {};
  const int64_t extent = (*shape)[static_cast<size_t>(axis.axis)];
  for (const Expr& table : axis.indices) {
    auto indices = constant_ints(table);
    auto is_outside = [&](int64_t index) { return index < 0 || index >= extent; };
    if (!indices || std::any_of(indices->begin(), indices->end(), is_outside)) return {};
    out.indices.push_back(*indices);
  }
  for (const Expr& table : axis.weights) {
    auto* constant = table.as<Constant>();
    if (!constant || dtype_of(table) != DataType::Float(32)) return {};
    const NDArray host = constant->data.copy_to(cpu());
    out.weights.emplace_back(host.data<float>(), host.data<float>() + host.size());
    if (out.weights.back().size() != out.indices[0].size()) return {};
  }
  return out;
}

namespace {

class ResampleFinder {
 public:
  explicit ResampleFinder(const Expr& body) : consumers_(body) {}

  std::vector<KernelGroup> operator()() {
    std::vector<KernelGroup> out;
    const std::vector<Expr>& all = consumers_.expressions();
    for (size_t i = all.size(); i-- > 0;) {  // what reads before what it reads: sums before their parts
      if (taken_.count(all[i].get()) || !is_candidate(all[i])) continue;
      std::optional<Resampling> columns = resampling_of(all[i]);
      auto rank = static_cast<int64_t>(rank_of(all[i]));
      if (!columns || columns->axis != rank - 1 || !is_closed(*columns) || !fits(*columns)) continue;
      KernelGroup group;
      group.rule = "resample";
      group.root = all[i].get();
      add(*columns, &group);
      const bool is_known = numbers_of(*columns).has_value();
      for (const auto* tables : {&columns->indices, &columns->weights})
        for (const Expr& table : *tables)
          if (is_known) group.members.insert(table.get());
      if (std::optional<Resampling> rows =
              is_read_by(columns->data, *columns) ? resampling_of(columns->data) : std::nullopt;
          rows && rows->axis == rank - 2 && is_closed(*rows) &&
          (is_known ? numbers_of(*rows).has_value() : is_dynamic(*rows)))
        add(*rows, &group);
      out.push_back(std::move(group));
    }
    return out;
  }

 private:
  static bool is_candidate(const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call || (op_name(call) != ops::take && op_name(call) != ops::add)) return false;
    return dtype_of(expr) == DataType::Float(32) && rank_of(expr) >= 2;
  }

  static bool fits(const Resampling& axis) {
    std::optional<topi::ResampledAxis> numbers = numbers_of(axis);
    return numbers ? topi::can_resample(*numbers) : is_dynamic(axis);
  }

  /// Everything but the last is read inside.
  bool is_closed(const Resampling& axis) const {
    return std::all_of(axis.calls.begin(), axis.calls.end() - 1,
                       [&](const Call* call) { return consumers_.only(Expr(call)); });
  }

  bool is_read_by(const Expr& data, const Resampling& axis) const {
    const auto& consumers = consumers_.of(data);
    return std::all_of(consumers.begin(), consumers.end(), [&](const RelayExprNode* consumer) {
      return std::any_of(axis.calls.begin(), axis.calls.end(), [&](const Call* call) { return call == consumer; });
    });
  }

  void add(const Resampling& axis, KernelGroup* group) {
    for (const Call* call : axis.calls) {
      group->members.insert(call);
      taken_.insert(call);
    }
  }

  Consumers consumers_;
  std::unordered_set<const Object*> taken_;
};

}  // namespace

Expr fuse_resample(const Expr& body) { return close_groups(body, ResampleFinder(body)()); }

}  // namespace tessera::relay

#include "frontend/common/parts.h"

#include <algorithm>

#include "frontend/common/extents.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

bool is_float(DataType dtype) { return dtype.code == DataType::kFloat || dtype.code == DataType::kBFloat; }

int64_t product_of(const std::vector<int64_t>& extents) {
  int64_t out = 1;
  for (int64_t extent : extents) out *= extent;
  return out;
}

Expr numbers_of(const std::vector<double>& values, const std::vector<int64_t>& shape, DataType dtype) {
  NDArray data = NDArray::empty(shape, dtype);
  for (size_t i = 0; i < values.size(); ++i) write_float(dtype, values[i], data.data<char>() + i * dtype.bytes());
  return make_constant(data);
}

Expr filled(double value, const std::vector<int64_t>& shape, DataType dtype) {
  if (shape.empty()) return make_scalar(value, dtype);
  return broadcast_to(make_scalar(value, dtype), int_array(shape));
}

Expr take(Expr x, Expr indices, int axis) {
  return call_op("take", {x, indices}, make_attrs<TakeAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }));
}

Expr slice(Expr x, int axis, int64_t begin, int64_t end, int64_t stride) {
  return relay::slice_axis(x, axis, begin, end, stride);
}

Expr pad_with(Expr x, const std::vector<int64_t>& before, const std::vector<int64_t>& after, double value) {
  bool is_none = true;
  std::vector<std::array<int64_t, 2>> widths;
  for (size_t i = 0; i < before.size(); ++i) {
    is_none = is_none && before[i] == 0 && after[i] == 0;
    widths.push_back({before[i], after[i]});
  }
  return is_none ? x : relay::pad_around(x, widths, value, relay::type_of(x).as<TensorTypeNode>()->dtype);
}

Expr shape_at_run_time(Expr x) {
  return call_op("shape_of", {x}, make_attrs<ShapeOfAttrs>([](auto& attrs) { attrs.dtype = DataType::Int(64); }));
}

Expr extent_at_run_time(const NodeContext& in, const Expr& x, int axis) {
  const DataType dtype = DataType::Int(64);
  if (auto* known = in.shape(x)[static_cast<size_t>(axis)].as<IntImm>())
    return make_constant(int_scalar(known->value, dtype));
  return take(shape_at_run_time(x), make_constant(int_scalar(axis, dtype)), 0);
}

Expr reshape_to(Expr x, const std::vector<int64_t>& shape) {
  return call_op("reshape", {x}, make_attrs<ReshapeAttrs>([&](auto& attrs) {
                   attrs.newshape = int_array(shape);
                   for (int64_t extent : shape) attrs.allowzero = attrs.allowzero || extent == 0;
                 }));
}

Expr cast_if_needed(const NodeContext& in, Expr x, DataType dtype) { return in.dtype(x) == dtype ? x : cast(x, dtype); }

Expr round_to_even(Expr x) { return call_op("round_to_even", {x}); }

Expr repeat(Expr x, int count, int axis) {
  return call_op("repeat", {x}, make_attrs<RepeatAttrs>([&](auto& attrs) {
                   attrs.repeats = PrimExpr(count);
                   attrs.axis = PrimExpr(axis);
                 }));
}

Expr softmax_of(Expr x, int axis) {
  DataType dtype = relay::type_of(x).as<TensorTypeNode>()->dtype, wide = DataType::Float(32);
  if (dtype.bits == 16) {
    Array<PrimExpr> axes{PrimExpr(axis)};
    Expr raised = cast(exp(cast(subtract(x, reduce("max", x, axes, true)), wide)), dtype);
    return divide(raised, cast(sum(cast(raised, wide), axes, true), dtype));
  }
  return call_op("nn.softmax", {x}, make_attrs<SoftmaxAttrs>([&](auto& attrs) { attrs.axis = axis; }));
}

std::vector<std::vector<int64_t>> indices_of(const std::vector<int64_t>& shape) {
  std::vector<std::vector<int64_t>> out;
  int64_t count = product_of(shape);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> index(shape.size());
    int64_t rest = i;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
    out.push_back(std::move(index));
  }
  return out;
}

namespace {

Expr batched(Expr a, Expr b, DataType out_dtype) {
  return call_op("nn.batch_matmul", {a, b},
                 make_attrs<BatchMatmulAttrs>([&](auto& attrs) { attrs.out_dtype = out_dtype; }));
}

Expr dyn_reshape(Expr x, Expr shape) {
  return call_op("dyn.reshape", {x, shape}, make_attrs<ReshapeAttrs>([](auto&) {}));
}

Expr dyn_broadcast(Expr x, Expr shape) {
  return call_op("dyn.broadcast_to", {x, shape}, make_attrs<InitOpAttrs>([](auto&) {}));
}

/// Leading extents are known only at run time, and are seen to be the same, or those of one operand are all 1; null where
/// neither is seen.
Expr matmul_of_names(const NodeContext& in, const Expr& a, const Expr& b, DataType out_dtype) {
  const Array<PrimExpr> shape_a = in.shape(a), shape_b = in.shape(b);
  const std::vector<PrimExpr> lead_a(shape_a.begin(), shape_a.end() - 2), lead_b(shape_b.begin(), shape_b.end() - 2);
  auto is_one = [](const std::vector<PrimExpr>& lead) {
    return std::all_of(lead.begin(), lead.end(), [](const PrimExpr& extent) { return tessera::is_one(extent); });
  };
  const bool one_a = is_one(lead_a), one_b = is_one(lead_b);
  if (!one_a && !one_b && !std::equal(lead_a.begin(), lead_a.end(), lead_b.begin(), lead_b.end(), same_extent))
    return nullptr;
  if ((one_a && lead_a.size() > lead_b.size()) || (one_b && lead_b.size() > lead_a.size())) return nullptr;
  auto flat = [&](const Expr& x, const std::vector<PrimExpr>& lead) {
    return lead.empty() ? expand_dims(x, 0) : merged(x, 0, static_cast<int>(lead.size()));
  };
  Expr out = batched(flat(a, lead_a), flat(b, lead_b), out_dtype);
  const std::vector<PrimExpr>& lead = one_a ? lead_b : lead_a;
  if (lead.size() < 2) return out;
  std::vector<PrimExpr> whole = lead;
  whole.push_back(shape_a[shape_a.size() - 2]);
  whole.push_back(shape_b[shape_b.size() - 1]);
  Expr back = reshaped_to(in, out, whole);
  return back.defined() ? back : reshaped_as(out, 0, 1, one_a ? b : a, 0, static_cast<int>(lead.size()));
}

/// Leading extents are known only at run time.
Expr dynamic_matmul(const NodeContext& in, const Expr& a, const Expr& b, DataType out_dtype) {
  int rank_a = static_cast<int>(in.rank(a)), rank_b = static_cast<int>(in.rank(b)), rank = std::max(rank_a, rank_b);
  Expr shape_a = shape_at_run_time(a), shape_b = shape_at_run_time(b);
  auto leading = [&](const Expr& shape, int own) {
    Expr part = slice(shape, 0, 0, own - 2);
    return own == rank ? part : concatenate({make_ints(std::vector<int64_t>(size_t(rank - own), 1)), part}, 0);
  };
  Expr batch = maximum(leading(shape_a, rank_a), leading(shape_b, rank_b));
  auto flat = [&](const Expr& x, const Expr& shape, int own) {
    Expr last = slice(shape, 0, own - 2, own);
    Expr whole = dyn_broadcast(x, concatenate({batch, last}, 0));
    return dyn_reshape(whole, concatenate({make_ints({-1}), last}, 0));
  };
  Expr out = batched(flat(a, shape_a, rank_a), flat(b, shape_b, rank_b), out_dtype);
  return dyn_reshape(
      out, concatenate({batch, slice(shape_a, 0, rank_a - 2, rank_a - 1), slice(shape_b, 0, rank_b - 1, rank_b)}, 0));
}

}  // namespace

Expr matmul_like_numpy(const NodeContext& in, Expr a, Expr b, DataType out_dtype) {
  bool is_row = in.rank(a) == 1, is_column = in.rank(b) == 1;
  if (in.rank(a) == 0 || in.rank(b) == 0) in.invalid("a matmul with a number");
  if (is_row) a = expand_dims(a, 0);
  if (is_column) b = expand_dims(b, 1);
  size_t rank_a = in.rank(a), rank_b = in.rank(b), rank = std::max(rank_a, rank_b);
  Expr out;
  DataType given = in.dtype(a);
  bool is_short = is_float(given) && given.bits == 16 && out_dtype.is_void();  // sums of fp16 and bf16 are fp32
  if (is_short) out_dtype = DataType::Float(32);
  std::optional<std::vector<int64_t>> shape_a = in.fixed_shape(a), shape_b = in.fixed_shape(b);
  if (rank_b == 2) {
    out = call_op("nn.matmul", {a, b}, make_attrs<MatmulAttrs>([&](auto& attrs) { attrs.out_dtype = out_dtype; }));
  } else if (rank_a == 3 && rank_b == 3) {
    out = batched(a, b, out_dtype);
  } else if (shape_a && shape_b) {
    std::vector<int64_t> batch(rank - 2);
    for (size_t i = 0; i < rank - 2; ++i) {
      auto extent = [&](const std::vector<int64_t>& shape) {
        size_t missing = rank - shape.size();
        return i < missing ? int64_t(1) : shape[i - missing];
      };
      int64_t x = extent(*shape_a), y = extent(*shape_b);
      if (x != y && x != 1 && y != 1) in.invalid("leading dimensions that cannot be broadcast to each other");
      batch[i] = x == 1 ? y : x;
    }
    int64_t count = product_of(batch);
    auto flat = [&](Expr x, const std::vector<int64_t>& shape) {
      std::vector<int64_t> own(shape.begin(), shape.end() - 2), whole = batch, last(shape.end() - 2, shape.end());
      whole.insert(whole.end(), last.begin(), last.end());
      bool is_one = product_of(own) == 1;
      if (!is_one && own != batch) x = broadcast_to(x, int_array(whole));
      return reshape_to(x, {is_one ? 1 : count, last[0], last[1]});
    };
    out = batched(flat(a, *shape_a), flat(b, *shape_b), out_dtype);
    std::vector<int64_t> whole = batch;
    whole.push_back((*shape_a)[rank_a - 2]);
    whole.push_back((*shape_b)[rank_b - 1]);
    if (product_of(std::vector<int64_t>(shape_a->begin(), shape_a->end() - 2)) == 1 &&
        product_of(std::vector<int64_t>(shape_b->begin(), shape_b->end() - 2)) == 1 && count != 1)
      out = broadcast_to(out, int_array({count, whole[rank - 2], whole[rank - 1]}));
    out = reshape_to(out, whole);
  } else {
    out = matmul_of_names(in, a, b, out_dtype);
    if (!out.defined()) out = dynamic_matmul(in, a, b, out_dtype);
  }
  if (is_short) out = cast(out, given);
  std::vector<int64_t> gone;
  if (is_row) gone.push_back(static_cast<int64_t>(rank) - 2);
  if (is_column) gone.push_back(static_cast<int64_t>(rank) - 1);
  return gone.empty() ? out : squeeze(out, int_array(gone));
}

}  // namespace tessera::frontend

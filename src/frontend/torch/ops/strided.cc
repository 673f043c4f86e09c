// Tensors as their memory: elements at offset + sum of index * stride.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/views.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Which elements of a tensor in the order of its memory.
struct Layout {
  Ints size, stride;
  int64_t offset = 0;

  std::vector<int64_t> positions(const Operation& in, int64_t count) const {
    int64_t reach = offset;
    constexpr int64_t kMax = int64_t{1} << 24;
    for (size_t i = 0; i < size.size(); ++i) {
      int64_t span = 0;
      if (size[i] < 0 || stride[i] < 0 || __builtin_mul_overflow(std::max<int64_t>(size[i] - 1, 0), stride[i], &span) ||
          __builtin_add_overflow(reach, span, &reach))
        in.invalid("a size or stride is negative or too large");
    }
    std::vector<int64_t> out;
    int64_t wanted = 1;
    for (int64_t extent : size)
      if (__builtin_mul_overflow(wanted, extent, &wanted) || wanted > kMax) in.invalid("a view of too many elements");
    if (wanted == 0) return out;
    if (offset < 0 || reach >= count)
      in.invalid("the view reaches element " + std::to_string(reach) + " of " + std::to_string(count));
    out.push_back(offset);
    for (size_t i = 0; i < size.size(); ++i) {
      std::vector<int64_t> next;
      next.reserve(out.size() * static_cast<size_t>(size[i]));
      for (int64_t at : out)
        for (int64_t k = 0; k < size[i]; ++k) next.push_back(at + k * stride[i]);
      out = std::move(next);
    }
    return out;
  }

  /// The dimensions from the outermost in memory, where all elements are taken once.
  std::optional<std::vector<int64_t>> order_of_all(int64_t count) const {
    std::vector<int64_t> order(size.size());
    std::iota(order.begin(), order.end(), 0);
    auto at = [](const Ints& of, int64_t i) { return of[static_cast<size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at(stride, a) > at(stride, b); });
    int64_t expected = 1;
    for (size_t i = order.size(); i-- > 0;) {
      if (at(size, order[i]) == 1) continue;
      if (at(stride, order[i]) != expected) return std::nullopt;
      expected *= at(size, order[i]);
    }
    if (offset != 0 || expected != count) return std::nullopt;
    return order;
  }
};

Layout layout_of(const Operation& in) {
  Layout out{in.integers("size"), in.integers("stride"), in.integer("storage_offset", 0)};
  if (out.size.size() != out.stride.size()) in.invalid("there are not as many strides as sizes");
  return out;
}

/// The tensor that owns the memory.
Value memory_of(Operation& in) {
  Value out = in.value(0);
  if (!out.cell->base || (is_contiguous(in, out) && !in.has("storage_offset"))) return out;
  if (!in.has("storage_offset")) in.unsupported("as_strided of a part of a tensor without an offset");
  while (out.cell->base) out.cell = out.cell->base;
  return out;
}

Values strided_of(Operation& in) {
  const Layout layout = layout_of(in);
  const Value memory = memory_of(in);
  const Ints shape = in.static_shape(memory.expr(), "as_strided");
  const int64_t count = product_of(shape);
  if (count > 0)
    if (std::optional<std::vector<int64_t>> order = layout.order_of_all(count)) {
      std::vector<int64_t> extents, back(order->size());
      for (size_t i = 0; i < order->size(); ++i) {
        extents.push_back(layout.size[static_cast<size_t>((*order)[i])]);
        back[static_cast<size_t>((*order)[i])] = static_cast<int64_t>(i);
      }
      return {in.importer().view_of(memory,
                                    {[=](const Expr& x) { return transpose(reshape_to(x, extents), int_array(back)); },
                                     [=, order = *order](const Expr&, const Expr& value) {
                                       return reshape_to(transpose(value, int_array(order)), shape);
                                     },
                                     layout.stride})};
    }
  const std::vector<int64_t> positions = layout.positions(in, count);
  const bool is_own = std::set<int64_t>(positions.begin(), positions.end()).size() == positions.size();
  const Ints size = layout.size;
  auto context = std::make_shared<TitledNode>(in.title());
  auto read = [=](const Expr& x) {
    return reshape_to(take(reshape(x, int_array({-1})), make_ints(positions), 0), size);
  };
  std::function<Expr(const Expr&, const Expr&)> write;
  if (is_own)
    write = [=](const Expr& base, const Expr& value) {
      Expr flat = reshape(base, int_array({-1})), updates = reshape(value, int_array({-1}));
      return reshape_to(onnx::apply(*context, "ScatterElements", {flat, make_ints(positions), updates}, {{"axis", 0}}),
                        shape);
    };
  return {in.importer().view_of(memory, {read, write, layout.stride})};
}

/// A copy of the tensor with other elements there.
Values scattered_strided(Operation& in) {
  const Layout layout = layout_of(in);
  const Value memory = memory_of(in);
  const Ints shape = in.static_shape(memory.expr(), "as_strided_scatter");
  Expr flat = reshape(memory.expr(), int_array({-1})), updates = reshape(in["src"], int_array({-1}));
  Expr at = make_ints(layout.positions(in, product_of(shape)));
  return {reshape_to(onnx::apply(in, "ScatterElements", {flat, at, updates}, {{"axis", 0}}), shape)};
}

}  // namespace

Rows strided_rows() {
  return {
      {"aten::as_strided", strided_of},
      {"aten::as_strided_copy", strided_of},
      {"aten::as_strided_scatter", scattered_strided},
  };
}

}  // namespace tessera::torch

// Gradients of layers with a sparse operand, written out by entries: the row of each is found in indptr, and what it contributes is
// added where that row lies.

#include "relay/attrs/sparse.h"

#include "op/gradient/expansion.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::add;
using relay::call_op;
using relay::cast;
using relay::make_attrs;
using relay::multiply;
using relay::reshape;
using relay::transpose;
using relay::zeros_like;

constexpr DataType kEntryIndex = DataType::Int(64);

/// A matrix as arguments of an expansion, in numbers: entries of height x width, in rows of blocks.
struct SparseOperand {
  Expr data, indices, indptr;
  DataType dtype;
  int64_t entries, height = 1, width = 1, rows;

  SparseOperand(const relay::Call* call, const Exprs& args, size_t first)
      : data(args[first]), indices(cast(args[first + 1], kEntryIndex)), indptr(cast(args[first + 2], kEntryIndex)) {
    const TensorTypeNode* type = arg_type(call, first);
    dtype = type->dtype;
    entries = known_extent(type, 0);
    rows = known_extent(arg_type(call, first + 2), 0) - 1;
    if (type->shape.size() == 3) height = known_extent(type, 1), width = known_extent(type, 2);
  }
  /// The row of each entry; one outside [0, rows) for those that no row has.
  Expr row_of_entry() const {
    Expr after = call_op("searchsorted", {indptr, counted(entries, kEntryIndex)},
                         make_attrs<relay::SearchSortedAttrs>([](auto& attrs) {
                           attrs.right = true;
                           attrs.dtype = kEntryIndex;
                         }));
    return relay::subtract(after, relay::make_ints({1}));
  }
  /// The entries as (entries, height, width), zeros for those that no row has.
  Expr used_blocks() const {
    Expr row = row_of_entry();
    Expr is_used = both_as_number(call_op("greater_equal", {row, relay::make_ints({0})}),
                                  relay::less(row, relay::make_ints({rows})), dtype);
    return multiply(reshape(data, {extent(entries), extent(height), extent(width)}),
                    reshape(is_used, {extent(entries), extent(1), extent(1)}));
  }
  /// The row of each entry, moved into [0, rows).
  Expr nearest_row() const { return relay::clip(row_of_entry(), 0, static_cast<double>(rows - 1)); }
};

Expr zeros_of(const std::vector<int64_t>& shape, DataType dtype) {
  return call_op("zeros", {}, make_attrs<relay::InitOpAttrs>([&](auto& attrs) {
                   for (int64_t n : shape) attrs.shape.push_back(extent(n));
                   attrs.dtype = dtype;
                 }));
}

/// x (lines, columns) times the transpose of the matrix: (lines, rows).
Expr times_transposed(const Expr& x, int64_t lines, int64_t columns, const SparseOperand& m) {
  Expr blocks = reshape(x, {extent(lines), extent(columns / m.width), extent(m.width)});
  Expr by_entry = transpose(taken(blocks, m.indices, 1), {extent(1), extent(0), extent(2)});
  Expr parts = batch_matmul(by_entry, m.used_blocks(), false, true);  // (entries, lines, height)
  Expr at = relay::expand_dims(m.nearest_row(), 0);  // a new shape would read an extent of 0 as that of the input
  Expr sums = scatter_nd(zeros_of({m.rows, lines, m.height}, m.dtype), at, parts, "add");
  return reshape(transpose(sums, {extent(1), extent(0), extent(2)}), {extent(lines), extent(m.rows * m.height)});
}

Exprs sparse_dense_gradient(const relay::Call* call, const Expr& grad) {
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    const TensorTypeNode* dense = arg_type(call, 0);
    Expr out = times_transposed(args[0], known_extent(dense, 0), known_extent(dense, 1), SparseOperand(call, args, 1));
    return call->attrs_as<relay::SparseDenseAttrs>()->sparse_lhs ? transpose(out) : out;
  });
}

Exprs sparse_add_gradient(const relay::Call* call, const Expr& grad) {
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    SparseOperand m(call, args, 1);
    Expr at = relay::stack({m.nearest_row(), m.indices}, 0);
    Expr values = reshape(m.used_blocks(), {extent(m.entries)});
    return add(args[0], scatter_nd(zeros_like(args[0]), at, values, "add"));
  });
}

/// An entry goes behind those of smaller columns and those of its own that came before.
Exprs sparse_transpose_gradient(const relay::Call* call, const Expr& grad) {
  auto order = [](const Expr& keys) {
    return call_op("argsort", {keys}, make_attrs<relay::ArgsortAttrs>([](auto& attrs) { attrs.dtype = kEntryIndex; }));
  };
  Expr target = order(order(call->args[1]));
  return {taken(relay::make_get_item(grad, 0), target, 0), zeros_like(call->args[1]), zeros_like(call->args[2])};
}

/// The elements that a weight of 3x3 meets at each pixel of NHWC images: (n, h, w, 9, c).
Expr windows_of_three(const Expr& images, int64_t n, int64_t h, int64_t w, int64_t c) {
  Expr padded = call_op("nn.pad", {images, relay::make_scalar(0, DataType::Float(32))},
                        make_attrs<relay::PadAttrs>([](auto& attrs) {
                          for (int64_t side : {0, 1, 1, 0}) attrs.pad_width.push_back({extent(side), extent(side)});
                        }));
  Array<Expr> parts;
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 3; ++x)
      parts.push_back(relay::strided_slice(padded, {extent(0), extent(y), extent(x), extent(0)},
                                           {extent(n), extent(y + h), extent(x + w), extent(c)}));
  return relay::stack(parts, 3);
}

Exprs sparse_conv2d_gradient(const relay::Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::SparseConv2DAttrs>();
  const bool is_nhwc = attrs->layout == "NHWC";
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    const TensorTypeNode* data = arg_type(call, 0);
    auto size = [&](size_t in_nhwc, size_t in_nchw) { return known_extent(data, is_nhwc ? in_nhwc : in_nchw); };
    const int64_t n = size(0, 0), h = size(1, 2), w = size(2, 3), c = size(3, 1);
    Expr x = in_layout(args[0], attrs->layout, "NHWC");
    const int64_t window = constant_of(attrs->kernel_size[0], "kernel_size") == 1 ? 1 : 9;
    if (window == 9) {
      x = windows_of_three(x, n, h, w, c);
      if (!is_nhwc) x = transpose(x, {extent(0), extent(1), extent(2), extent(4), extent(3)});
    }
    SparseOperand weight(call, args, 1);
    x = reshape(x, {extent(n * h * w), extent(window * c)});
    Expr out = times_transposed(x, n * h * w, window * c, weight);
    out = reshape(out, {extent(n), extent(h), extent(w), extent(weight.rows * weight.height)});
    return in_layout(out, "NHWC", attrs->layout);
  });
}

}  // namespace

static void sparse_gradients() {
  set_gradients({
      {"nn.sparse_dense", sparse_dense_gradient},
      {"nn.internal.sparse_dense_padded", sparse_dense_gradient},
      {"nn.sparse_add", sparse_add_gradient},
      {"nn.sparse_transpose", sparse_transpose_gradient},
      {"nn.sparse_conv2d", sparse_conv2d_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily sparse_gradient_family{sparse_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op

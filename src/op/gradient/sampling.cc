// Gradients of operators that read images between their elements: image.affine_grid, image.grid_sample and
// nn.deformable_conv2d. An element is gathered for each tap around a position and weighted, so that positions have
// gradients too.

#include "op/gradient/expansion.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

using namespace relay;
using Call = relay::Call;

/// Arithmetic with numbers of one type.
struct Reals {
  DataType dtype;
  Expr operator()(double value) const { return make_scalar(value, dtype); }
  Expr scaled(const Expr& x, double factor) const { return multiply(x, (*this)(factor)); }
  Expr moved(const Expr& x, double distance) const { return add(x, (*this)(distance)); }
  /// 1 where 0 <= x <= last, else 0.
  Expr inside(const Expr& x, int64_t last) const {
    Expr above = call_op("greater_equal", {x, (*this)(0)});
    return both_as_number(above, call_op("less_equal", {x, (*this)(static_cast<double>(last))}), dtype);
  }
};

/// An element along one axis that takes part in a value: its number, as a real, and its share (none: all of it).
struct Tap {
  Expr index, weight;
};
using Taps = std::vector<Tap>;

Taps linear_taps(const Reals& real, const Expr& position) {
  Expr whole = call_op("floor", {position}), t = subtract(position, whole);
  return {{whole, subtract(real(1), t)}, {real.moved(whole, 1), t}};
}

/// Cubic convolution (Keys) with parameter `a`.
Taps cubic_taps(const Reals& real, const Expr& position, double a) {
  Expr whole = call_op("floor", {position}), t = subtract(position, whole), t2 = multiply(t, t), t3 = multiply(t2, t);
  auto polynomial = [&](double three, double two, double one, double zero) {
    return real.moved(add(add(real.scaled(t3, three), real.scaled(t2, two)), real.scaled(t, one)), zero);
  };
  return {{real.moved(whole, -1), polynomial(a, -2 * a, a, 0)},
          {whole, polynomial(a + 2, -(a + 3), 0, 1)},
          {real.moved(whole, 1), polynomial(-(a + 2), 2 * a + 3, -a, 0)},
          {real.moved(whole, 2), polynomial(-a, a, 0, 0)}};
}

/// Images (n, c, extents...) read at points (n, p), given by the taps along each axis: (n, c, p). What lies outside is 0.
Expr read_between(const Reals& real, const Expr& images, const Array<PrimExpr>& shape, const std::vector<Taps>& taps,
                  int64_t points) {
  int64_t area = 1;
  for (size_t i = 2; i < shape.size(); ++i) area *= *as_int(shape[i]);
  Expr flat = reshape(images, {shape[0], shape[1], extent(area)}), out;
  size_t combinations = 1;
  for (const Taps& axis : taps) combinations *= axis.size();
  for (size_t k = 0; k < combinations; ++k) {
    Expr offset, share;
    auto times = [&](const Expr& factor) { share = share ? multiply(share, factor) : factor; };
    size_t rest = k;
    for (size_t i = 0; i < taps.size(); rest /= taps[i++].size()) {
      const Tap& tap = taps[i][rest % taps[i].size()];
      int64_t size = *as_int(shape[i + 2]);
      Expr index = clip(tap.index, 0, static_cast<double>(size - 1));
      offset = offset ? add(real.scaled(offset, static_cast<double>(size)), index) : index;
      times(real.inside(tap.index, size - 1));
      if (tap.weight) times(tap.weight);
    }
    Expr numbers = broadcast_to(expand_dims(cast(offset, DataType::Int(64)), 1), {shape[0], shape[1], extent(points)});
    Expr read = call_op("gather", {flat, numbers}, make_attrs<GatherAttrs>([](auto& a) { a.axis = PrimExpr(2); }));
    Expr part = multiply(read, expand_dims(share, 1));
    out = out ? add(out, part) : part;
  }
  return out;
}

// ---- grids -------------------------------------------------------------------------------------------------------

/// Linear in the matrices, and alike for each of their rows: those of the identity say what each number of a row does.
Exprs affine_grid_gradient(const Call* call, const Expr& grad) {
  auto* data = arg_type(call, 0);
  Expr rows =
      reshape(make_ints({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}), {extent(3), extent(2), extent(3)});
  Expr grids = call_op("image.affine_grid", {cast(rows, data->dtype)}, call->attrs);  // (3, 2, height, width)
  Expr shares = reshape(taken(grids, make_ints({0}), 1), {extent(3), extent(-1)});
  Array<PrimExpr> target = call->attrs_as<AffineGridAttrs>()->target_shape;
  Expr flat = reshape(grad, {extent(-1), extent(constant_of(target[0], "height") * constant_of(target[1], "width"))});
  Expr by_row = call_op("nn.dense", {flat, shares}, make_attrs<DenseAttrs>([](auto&) {}));
  return {reshape(by_row, {extent(-1), extent(2), extent(3)})};
}

/// A position of a grid, in elements, brought into the image as the padding says.
struct Folding {
  const GridSampleAttrs* attrs;
  Reals real;

  Expr unnormalised(const Expr& position, int64_t size) const {
    double n = static_cast<double>(size);
    if (attrs->align_corners) return real.scaled(real.moved(position, 1), (n - 1) / 2);
    return real.moved(real.scaled(real.moved(position, 1), n / 2), -0.5);
  }
  Expr operator()(const Expr& position, int64_t size) const {
    if (attrs->padding_mode == "zeros") return position;
    return clip(attrs->padding_mode == "reflection" ? reflected(position, size) : position, 0,
                static_cast<double>(size - 1));
  }
  Expr reflected(const Expr& position, int64_t size) const {
    double edge = attrs->align_corners ? 0 : -0.5, length = static_cast<double>(attrs->align_corners ? size - 1 : size);
    Expr from = call_op("abs", {real.moved(position, -edge)});
    Expr times = call_op("floor", {real.scaled(from, 1 / std::max(length, 1.0))});
    Expr extra = subtract(from, real.scaled(times, length));
    Expr is_even = equal(call_op("floor_mod", {times, real(2)}), real(0));
    return real.moved(where(is_even, extra, subtract(real(length), extra)), edge);
  }
};

Exprs grid_sample_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<GridSampleAttrs>();
  auto *data = arg_type(call, 0), *grid = arg_type(call, 1);
  const size_t spatial = data->shape.size() - 2;
  int64_t points = 1;
  for (size_t i = 2; i < grid->shape.size(); ++i) points *= known_extent(grid, i);
  for (size_t i = 0; i < data->shape.size(); ++i) known_extent(data, i);
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    Reals real{data->dtype};
    Folding fold{attrs, real};
    Expr flat =
        cast(reshape(args[1], {data->shape[0], extent(static_cast<int64_t>(spatial)), extent(points)}), data->dtype);
    std::vector<Taps> taps;
    for (size_t i = 0; i < spatial; ++i) {
      int64_t size = known_extent(data, i + 2);
      Expr given = squeeze(taken(flat, make_ints({static_cast<int64_t>(spatial - 1 - i)}), 1), {PrimExpr(1)});
      Expr position = fold.unnormalised(given, size);
      if (attrs->method == "nearest") {
        taps.push_back({{call_op("round_to_even", {fold(position, size)}), {}}});
      } else if (attrs->method == "bilinear") {
        taps.push_back(linear_taps(real, fold(position, size)));
      } else {
        taps.push_back(cubic_taps(real, position, -0.75));
        for (Tap& tap : taps.back())
          if (attrs->padding_mode != "zeros") tap.index = call_op("trunc", {fold(tap.index, size)});
      }
    }
    Expr out = read_between(real, args[0], data->shape, taps, points);
    return reshape(out, tensor_of(checked_type(Expr(call)))->shape);
  });
}

// ---- convolutions with moved kernel elements --------------------------------------------------------------------------------

Exprs deformable_conv2d_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<DeformableConv2DAttrs>();
  auto* result = tensor_of(checked_type(Expr(call)));
  auto plain = [&](const TensorTypeNode* type, const String& from, const char* to) {
    for (size_t i = 0; i < type->shape.size(); ++i) known_extent(type, i);
    std::vector<int64_t> out;
    for (const PrimExpr& e : convert_shape(make_layout(from), make_layout(to), type->shape)) out.push_back(*as_int(e));
    return out;
  };
  auto in = plain(arg_type(call, 0), attrs->data_layout, "NCHW"),
       kernel = plain(arg_type(call, 2), attrs->kernel_layout, "OIHW");
  auto out = plain(result, attrs->data_layout, "NCHW");
  const int64_t movers = attrs->deformable_groups, groups = attrs->groups, count = kernel[2] * kernel[3],
                area = out[2] * out[3];
  Array<PrimExpr> padding = topi::full_padding(attrs->padding, 2);
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    Reals real{arg_type(call, 0)->dtype};
    auto shaped = [](const Expr& x, std::initializer_list<int64_t> extents) {
      Array<PrimExpr> shape;
      for (int64_t e : extents) shape.push_back(extent(e));
      return reshape(x, shape);
    };
    Expr data = shaped(in_layout(args[0], attrs->data_layout, "NCHW"), {in[0] * movers, in[1] / movers, in[2], in[3]});
    Expr moves =
        shaped(cast(in_layout(args[1], attrs->data_layout, "NCHW"), real.dtype), {in[0] * movers, count, 2, area});
    std::vector<Taps> around;
    Expr share;
    for (size_t i = 0; i < 2; ++i) {
      std::vector<int64_t> grid;  // (kernel elements, windows)
      for (int64_t element = 0; element < count; ++element)
        for (int64_t window = 0; window < area; ++window) {
          int64_t k = i ? element % kernel[3] : element / kernel[3], at = i ? window % out[3] : window / out[3];
          grid.push_back(at * *as_int(attrs->strides[i]) - *as_int(padding[i]) + k * *as_int(attrs->dilation[i]));
        }
      Expr moved = shaped(taken(moves, make_ints({static_cast<int64_t>(i)}), 2), {in[0] * movers, count * area});
      Expr position = add(moved, expand_dims(cast(make_ints(grid), real.dtype), 0));
      Expr ahead = less(position, real(static_cast<double>(in[i + 2])));
      Expr inside = both_as_number(call_op("greater_equal", {position, real(0)}), ahead, real.dtype);
      share = share ? multiply(share, inside) : inside;
      around.push_back(linear_taps(real, position));
    }
    Array<PrimExpr> shape{extent(in[0] * movers), extent(in[1] / movers), extent(in[2]), extent(in[3])};
    Expr read = multiply(read_between(real, data, shape, around, count * area), expand_dims(share, 1));
    read = shaped(read, {in[0] * groups, in[1] / groups * count, area});
    Expr weight =
        shaped(in_layout(args[2], attrs->kernel_layout, "OIHW"), {1, groups, kernel[0] / groups, kernel[1] * count});
    weight =
        broadcast_to(weight, {extent(in[0]), extent(groups), extent(kernel[0] / groups), extent(kernel[1] * count)});
    weight = shaped(weight, {in[0] * groups, kernel[0] / groups, kernel[1] * count});
    Expr sums = shaped(batch_matmul(weight, read, false, false), {out[0], out[1], out[2], out[3]});
    return cast(in_layout(sums, "NCHW", attrs->data_layout), result->dtype);
  });
}

}  // namespace

static void sampling_gradients() {
  set_gradients({
      {"image.affine_grid", affine_grid_gradient},
      {"image.grid_sample", grid_sample_gradient},
      {"nn.deformable_conv2d", deformable_conv2d_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily sampling_gradient_family{sampling_gradients,
                                                                                 FillOrder::MoreSlots};

}  // namespace tessera::op

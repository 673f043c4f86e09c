#include "topi/nn/winograd.h"

#include <algorithm>
#include <numeric>

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/nn/pad.h"
#include "topi/nn/winograd_filter.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

using Values = std::vector<PrimExpr>;

constexpr int kTaps = kWinogradKernelSize;

void require_form(const WinogradForm& form) {
  const int tile = form.tile;
  if (tile != 2 && tile != 4)
    throw Error(ValueError) << "there is no Winograd transform for tiles of " << tile << " results; there are 2 and 4";
  if (form.axes.empty() || form.axes.size() > 2)
    throw Error(ValueError) << "Winograd's convolution is along one or two axes, not " << form.axes.size();
}

PrimExpr times(double factor, const PrimExpr& x) { return x * make_const(x.dtype(), factor); }

/// B^T d, written so that what two rows share is computed once.
Values data_transform(int tile, const Values& d) {
  if (tile == 2) return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  PrimExpr even = d[4] - times(4, d[2]), odd = d[3] - times(4, d[1]);
  PrimExpr near = d[4] - d[2], far = times(2, d[3] - d[1]);
  return {times(4, d[0]) - times(5, d[2]) + d[4], even + odd, even - odd, near + far, near - far,
          times(4, d[1]) - times(5, d[3]) + d[5]};
}

/// A^T m
Values result_transform(int tile, const Values& m) {
  if (tile == 2) return {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
  PrimExpr sum = m[1] + m[2], difference = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
  return {m[0] + sum + sum2, difference + times(2, difference2), sum + times(4, sum2),
          difference + times(8, difference2) + m[5]};
}

/// G w
Values weight_transform(int tile, const Values& w) {
  Values out(static_cast<size_t>(tile + kTaps - 1));
  winograd_filter(tile, w.data(), out.data(), times);
  return out;
}

/// values[index]; a loop over `index` that is unrolled leaves one of them.
PrimExpr pick(const PrimExpr& index, const Values& values) {
  PrimExpr out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    out = make_select(equal(index, PrimExpr(static_cast<int>(i))), values[i], out);
  return out;
}

using Body = std::function<PrimExpr(const Array<PrimExpr>&)>;
struct Axis {
  const char* name;
  PrimExpr extent;
};

te::Tensor stage(const char* role, const std::vector<Axis>& dims, const Body& body, const char* tag = "",
                 const Map<String, ObjectRef>& more = {}) {
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (const Axis& dim : dims) {
    Var var = make_var(dim.name, dim.extent.dtype());
    axes.push_back(make_iter_var(make_range(make_zero(dim.extent.dtype()), dim.extent), var, IterType::DataPar));
    at.push_back(var);
  }
  Map<String, ObjectRef> attrs = more;
  attrs.set(kWinogradStage, String(role));
  return te::output(te::compute_op(std::string("winograd_") + role, tag, attrs, axes, {body(at)}), 0);
}

/// The elements of one tile along one dimension.
template <class F>
Values along(int count, F element) {
  Values out;
  for (int i = 0; i < count; ++i) out.push_back(element(PrimExpr(i)));
  return out;
}

using Indices = Array<PrimExpr>;

Indices slice(const Indices& at, size_t first, size_t count) {
  return Indices(at.begin() + static_cast<long>(first), at.begin() + static_cast<long>(first + count));
}
void append(Indices* to, const Indices& more) {
  for (const PrimExpr& index : more) to->push_back(index);
}

/// A convolution stage by stage. Dimensions of stages are n: images, c and f: blocks of channels, g: groups of them, p: positions (of tiles along
/// axes that are transformed) after the phases of dilated ones, each an image of its own, q: the same of the padded data, a and b: elements of a transformed tile, i and o: in a block of channels.
class WinogradStages {
 public:
  WinogradStages(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options, const WinogradForm& form)
      : data_(data),
        weight_(weight),
        options_(options),
        form_(form),
        spatial_(options.strides.size()),
        in_(make_layout(options.data_layout)),
        plain_(make_layout(plain_data_layout(spatial_))),
        padding_(full_padding(options.padding, spatial_)),
        shape_(convert_shape(in_, plain_, data->shape)),
        in_block_(std::max<int>(static_cast<int>(in_->factor_of('C')), 1)),
        groups_(static_cast<int>(options.groups)),
        has_blocks_(weight->shape.size() == spatial_ + 3) {
    for (size_t s = 0; s < spatial_; ++s) add_axis(s);
  }

  te::Tensor result() const {
    const te::Tensor sums = this->sums(transformed_data());
    const te::Tensor products =
        stage(kWinogradProducts, products_dims(), [&](const Indices& i) { return te::load(sums, i); });
    return transformed_back(products);
  }

 private:
  /// A spatial axis.
  struct Spatial {
    bool is_transformed;
    PrimExpr results, positions;      // of the result; tiles of a phase of them where it is transformed
    PrimExpr padded, data_positions;  // of the padded data; tiles of it
    PrimExpr phases;                  // elements that many apart are neighbours
    IterVar kernel;                   // reduced, where it is not transformed
  };
  size_t sides() const { return form_.axes.size(); }
  int side() const { return form_.tile + kTaps - 1; }
  PrimExpr out_block() const { return has_blocks_ ? weight_->shape.back() : PrimExpr(1); }
  PrimExpr ins() const { return floordiv(shape_[1], in_block_); }

  void add_axis(size_t s) {
    const bool is_transformed = std::find(form_.axes.begin(), form_.axes.end(), s) != form_.axes.end();
    const PrimExpr extent = shape_[2 + s] + padding_[s] + padding_[spatial_ + s];
    const PrimExpr &stride = options_.strides[s], &dilation = options_.dilation[s];
    if (is_transformed) {
      if (!is_one(stride))
        throw Error(ValueError) << "Winograd's convolution has strides of 1 along axes it transforms";
      const PrimExpr results = extent - (kTaps - 1) * dilation;
      const PrimExpr tiles = floordiv(results + (dilation * form_.tile - 1), dilation * form_.tile);
      // room for whole tiles
      axes_.push_back({true, results, tiles, tiles * form_.tile + (kTaps - 1), tiles, dilation, nullptr});
      if (!is_one(dilation)) phases_.push_back(s);
      return;
    }
    const size_t direct = s - static_cast<size_t>(std::count_if(
                                  axes_.begin(), axes_.end(), [](const Spatial& axis) { return axis.is_transformed; }));
    const PrimExpr& taps = weight_->shape[sides() + direct];
    const PrimExpr results = window_count(extent, taps, dilation, stride);
    const PrimExpr read = (results - 1) * stride + (taps - 1) * dilation + 1;
    const std::string name = "r" + std::to_string(s);
    axes_.push_back({false, results, results, read, read, PrimExpr(1), te::reduce_axis(make_range(0, taps), name)});
  }

  /// Phases are positions as well, before those along the axes.
  size_t positions() const { return phases_.size() + spatial_; }
  size_t position_of(size_t axis) const { return phases_.size() + axis; }
  /// Where an element of the padded data lies along an axis, from indices of a stage whose positions begin at `first`.
  PrimExpr dilated(const Indices& i, size_t first, size_t axis) const {
    const PrimExpr& position = i[first + position_of(axis)];
    for (size_t k = 0; k < phases_.size(); ++k)
      if (phases_[k] == axis) return position * axes_[axis].phases + i[first + k];
    return position;
  }

  std::vector<Axis> sides_dims() const {
    std::vector<Axis> out{{"a", PrimExpr(side())}, {"b", PrimExpr(side())}};
    if (sides() == 1) out.pop_back();
    return out;
  }
  void add_positions(std::vector<Axis>* dims, PrimExpr Spatial::* extent) const {
    constexpr const char* kNames[] = {"p0", "p1", "p2"};
    for (size_t s : phases_) dims->push_back({"phase", axes_[s].phases});
    for (size_t s = 0; s < spatial_; ++s) dims->push_back({kNames[s], axes_[s].*extent});
  }

  te::Tensor padded() const {
    std::vector<Axis> dims{{"n", shape_[0]}, {"c", ins()}};
    add_positions(&dims, &Spatial::padded);
    dims.push_back({"i", PrimExpr(in_block_)});
    return stage(
        kWinogradPadded, dims,
        [&](const Indices& i) {
          Indices at{i[0], i[1] * in_block_ + i.back()}, blocked{i[0], i[1]};
          PrimExpr inside;
          auto require = [&](const PrimExpr& holds) { inside = inside ? logical_and(inside, holds) : holds; };
          for (size_t s = 0; s < spatial_; ++s) {
            const PrimExpr position = dilated(i, 2, s), index = position - padding_[s];
            require(position >= padding_[s]);
            require(index < shape_[2 + s]);
            at.push_back(index);
            blocked.push_back(index);
          }
          blocked.push_back(i.back());
          at = in_block_ > 1 ? blocked : convert_indices(plain_, in_, at);
          return if_then_else(inside, te::load(data_, at), make_zero(data_->dtype));
        },
        "injective,pad");
  }

  /// (a, b, c, n, q..., i)
  te::Tensor transformed_data() const {
    const te::Tensor padded = this->padded();
    std::vector<Axis> dims{{"n", shape_[0]}, {"c", ins()}};
    add_positions(&dims, &Spatial::data_positions);
    for (const Axis& side : sides_dims()) dims.push_back(side);
    dims.push_back({"i", PrimExpr(in_block_)});
    const size_t first = 2 + position_of(form_.axes[0]), at_a = 2 + positions();
    const te::Tensor columns = stage(kWinogradColumns, dims, [&](const Indices& i) {
      Indices at = slice(i, 0, 2 + positions());
      at.push_back(i.back());
      if (sides() == 2) {
        const size_t second = 2 + position_of(form_.axes[1]);
        at.set(second, i[second] * form_.tile + i[at_a + 1]);
      }
      return pick(i[at_a], data_transform(form_.tile, along(side(), [&](const PrimExpr& row) {
                                            Indices element = at;
                                            element.set(first, i[first] * form_.tile + row);
                                            return te::load(padded, element);
                                          })));
    });
    dims = sides_dims();
    dims.push_back({"c", ins()});
    dims.push_back({"n", shape_[0]});
    add_positions(&dims, &Spatial::data_positions);
    dims.push_back({"i", PrimExpr(in_block_)});
    return stage(kWinogradData, dims, [&](const Indices& i) {
      const size_t t = sides();
      Indices at{i[t + 1], i[t]};
      append(&at, slice(i, t + 2, positions()));
      append(&at, slice(i, 0, t));
      at.push_back(i.back());
      if (t == 1) return te::load(columns, at);
      return pick(i[1], data_transform(form_.tile, along(side(), [&](const PrimExpr& column) {
                                         Indices element = at;
                                         element.set(at_a + 1, column);
                                         return te::load(columns, element);
                                       })));
    });
  }

  PrimExpr group_outs() const { return floordiv(weight_->shape[spatial_], groups_); }

  /// (a, b, g, f, n, p..., o)
  std::vector<Axis> products_dims() const {
    std::vector<Axis> dims = sides_dims();
    dims.push_back({"g", PrimExpr(groups_)});
    dims.push_back({"f", group_outs()});
    dims.push_back({"n", shape_[0]});
    add_positions(&dims, &Spatial::positions);
    dims.push_back({"o", out_block()});
    return dims;
  }

  te::Tensor sums(const te::Tensor& tiles) const {
    const PrimExpr group_ins = weight_->shape[spatial_ + 1];
    const int block = groups_ == 1 ? in_block_ : shared_block(group_ins);  // of the sum
    const PrimExpr blocks = groups_ == 1 ? ins() : floordiv(group_ins, block);
    IterVar rc = te::reduce_axis(make_range(make_zero(blocks.dtype()), blocks), "rc");
    IterVar ri = te::reduce_axis(make_range(0, block), "ri");
    Array<IterVar> reduced;
    for (const Spatial& axis : axes_)
      if (axis.kernel && !is_one(axis.kernel->dom->extent)) reduced.push_back(axis.kernel);
    reduced.push_back(rc);
    reduced.push_back(ri);
    return stage(kWinogradSums, products_dims(), [&](const Indices& i) {
      const size_t t = sides();
      Indices at = slice(i, 0, t), weight_at = slice(i, 0, t);
      const PrimExpr channel = block == 1 ? PrimExpr(rc->var) : rc->var * block + ri->var;
      PrimExpr data_block = rc->var, in_block = ri->var;
      if (groups_ > 1 && block == in_block_) data_block = i[t] * blocks + rc->var;
      else if (groups_ > 1) {
        // a group begins anywhere in a block
        const PrimExpr part = i[t] * blocks + rc->var;
        data_block = floordiv(part, in_block_ / block);
        in_block = floormod(part, in_block_ / block) * block + ri->var;
      }
      at.push_back(data_block);
      at.push_back(i[t + 2]);
      append(&at, slice(i, t + 3, phases_.size()));
      for (size_t s = 0; s < spatial_; ++s) {
        const PrimExpr& position = i[t + 3 + position_of(s)];
        if (axes_[s].is_transformed) {
          at.push_back(position);
          continue;
        }
        const bool is_single = is_one(axes_[s].kernel->dom->extent);
        const PrimExpr element = is_single ? PrimExpr(0) : PrimExpr(axes_[s].kernel->var);
        at.push_back(position * options_.strides[s] + element * options_.dilation[s]);
        weight_at.push_back(element);
      }
      at.push_back(in_block);
      weight_at.push_back(groups_ == 1 ? i[t + 1] : i[t] * group_outs() + i[t + 1]);
      weight_at.push_back(channel);
      if (has_blocks_) weight_at.push_back(i.back());
      return te::sum(te::load(tiles, at) * te::load(weight_, weight_at), reduced);
    });
  }

  /// Channels of a group in a row that lie in one block of the data.
  int shared_block(const PrimExpr& group_ins) const {
    const int64_t* known = as_int(group_ins);
    return known ? static_cast<int>(std::gcd<int64_t>(*known, in_block_)) : 1;
  }

  te::Tensor transformed_back(const te::Tensor& products) const {
    std::vector<Axis> dims{{"n", shape_[0]}, {"f", weight_->shape[spatial_]}};
    add_positions(&dims, &Spatial::positions);
    dims.push_back({"r", PrimExpr(form_.tile)});
    if (sides() == 2) dims.push_back({"b", PrimExpr(side())});
    dims.push_back({"o", out_block()});
    Array<PrimExpr> axes;
    Array<PrimExpr> phases;
    for (size_t axis : form_.axes) axes.push_back(PrimExpr(static_cast<int>(axis)));
    for (size_t axis : form_.axes) phases.push_back(axes_[axis].phases);
    auto half = [&](const Indices& i) {
      return pick(i[2 + positions()], result_transform(form_.tile, along(side(), [&](const PrimExpr& row) {
                                                         Indices at{row};
                                                         if (sides() == 2) at.push_back(i[3 + positions()]);
                                                         const PrimExpr outs = group_outs();
                                                         if (groups_ == 1) append(&at, {0, i[1], i[0]});
                                                         else
                                                           append(&at,
                                                                  {floordiv(i[1], outs), floormod(i[1], outs), i[0]});
                                                         append(&at, slice(i, 2, positions()));
                                                         at.push_back(i.back());
                                                         return te::load(products, at);
                                                       })));
    };
    const te::Tensor rows =
        stage(kWinogradRows, dims, half, "", {{String(kWinogradAxes), axes}, {String(kWinogradPhases), phases}});
    dims = {{"n", shape_[0]}, {"f", weight_->shape[spatial_]}};
    constexpr const char* kNames[] = {"y0", "y1", "y2"};
    for (size_t s = 0; s < spatial_; ++s) dims.push_back({kNames[s], axes_[s].results});
    if (has_blocks_) dims.push_back({"o", out_block()});
    const std::string tag = "conv" + std::to_string(spatial_) + "d_winograd";
    return stage(
        kWinogradResult, dims,
        [&](const Indices& i) {
          Indices at = slice(i, 0, 2), inside;
          for (size_t axis : phases_) at.push_back(floormod(i[2 + axis], axes_[axis].phases));
          append(&at, slice(i, 2, spatial_));
          for (size_t axis : form_.axes) {
            const PrimExpr position =
                is_one(axes_[axis].phases) ? i[2 + axis] : floordiv(i[2 + axis], axes_[axis].phases);
            inside.push_back(floormod(position, form_.tile));
            at.set(2 + position_of(axis), floordiv(position, form_.tile));
          }
          at.push_back(inside[0]);
          const PrimExpr o = has_blocks_ ? i.back() : PrimExpr(0);
          auto load = [&](const Indices& more) {
            Indices element = at;
            append(&element, more);
            return te::load(rows, element);
          };
          if (sides() == 1) return load({o});
          auto row = along(side(), [&](const PrimExpr& column) { return load({column, o}); });
          return pick(inside[1], result_transform(form_.tile, row));
        },
        tag.c_str());
  }

  const te::Tensor &data_, &weight_;
  const ConvOptions& options_;
  const WinogradForm& form_;
  const size_t spatial_;
  const Layout in_, plain_;
  const Array<PrimExpr> padding_, shape_;
  const int in_block_, groups_;
  const bool has_blocks_;
  std::vector<Spatial> axes_;
  std::vector<size_t> phases_;  // axes that are transformed and dilated
};

}  // namespace

te::Tensor winograd_weight(const te::Tensor& weight, const WinogradForm& form) {
  require_form(form);
  const int side = form.tile + kTaps - 1;
  te::Tensor out = weight;
  for (size_t axis : form.axes) {
    const te::Tensor from = out;
    Indices shape = from->shape;
    shape.set(2 + axis, PrimExpr(side));
    out = te::compute(
        shape,
        [&](const Indices& i) {
          auto taps = along(kTaps, [&](const PrimExpr& tap) {
            Indices at = i;
            at.set(2 + axis, tap);
            return te::load(from, at);
          });
          return pick(i[2 + axis], weight_transform(form.tile, taps));
        },
        "winograd_weight_rows");
  }
  // (out, in, kernel...) to (transformed..., the others..., out, in)
  std::vector<size_t> order(form.axes.begin(), form.axes.end());
  for (size_t s = 0; s + 2 < weight->shape.size(); ++s)
    if (std::find(form.axes.begin(), form.axes.end(), s) == form.axes.end()) order.push_back(s);
  Indices shape;
  for (size_t s : order) shape.push_back(out->shape[2 + s]);
  append(&shape, slice(out->shape, 0, 2));
  return te::compute(
      shape,
      [&](const Indices& i) {
        Indices at = out->shape;
        at.set(0, i[order.size()]);
        at.set(1, i[order.size() + 1]);
        for (size_t k = 0; k < order.size(); ++k) at.set(2 + order[k], i[k]);
        return te::load(out, at);
      },
      "winograd_weight");
}

te::Tensor winograd_conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                         const WinogradForm& form) {
  require_form(form);
  return WinogradStages(data, weight, options, form).result();
}

}  // namespace tessera::topi

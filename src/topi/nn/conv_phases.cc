#include "topi/nn/conv_phases.h"

#include <optional>

#include "ir/prim_ops.h"
#include "te/reduce.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

/// One spatial dimension. Result y stands at place y + begin; its phase is that modulo the stride, and it reads element
/// (y + begin) / stride - m for tap phase + m * stride.
struct Dimension {
  int64_t stride, dilation, steps;  // taps of a phase
  int64_t begin, extent;            // of the result
  int64_t first, count;             // of the places of a phase
  int64_t before, after;            // zeros around the data
};

std::optional<Dimension> dimension(const PrimExpr& elements, const PrimExpr& taps, const ConvOptions& options, size_t i,
                                   const Array<PrimExpr>& padding, const PrimExpr& more) {
  const size_t spatial = options.strides.size();
  const int64_t *n = as_int(elements), *k = as_int(taps), *stride = as_int(options.strides[i]);
  const int64_t *dilation = as_int(options.dilation[i]), *begin = as_int(padding[i]),
                *end = as_int(padding[spatial + i]);
  const int64_t* added = as_int(more);
  if (!n || !k || !stride || !dilation || !begin || !end || !added) return {};
  if (*begin < 0 || *k % *stride != 0 || (*stride > 1 && *dilation != 1)) return {};
  Dimension out{*stride, *dilation, *k / *stride, *begin, 0, 0, 0, 0, 0};
  out.extent = (*n - 1) * *stride + (*k - 1) * *dilation + 1 - *begin - *end + *added;
  if (out.extent < 1) return {};
  out.first = out.begin / out.stride;
  out.count = (out.begin + out.extent - 1) / out.stride - out.first + 1;
  out.before = std::max<int64_t>(0, (out.steps - 1) * out.dilation - out.first);
  out.after = std::max<int64_t>(0, out.first + out.count - *n);
  return out;
}

bool is_blocked(const Layout& layout, size_t rank, char last) {
  return layout->axes.size() == rank && layout->letter(rank - 1) == last;
}

}  // namespace

te::Tensor conv_transpose_phases(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                                 const Array<PrimExpr>& output_padding) {
  const size_t spatial = options.strides.size();
  const String letters = plain_transposed_kernel_layout(spatial);
  const char out_letter = static_cast<char>(letters.str()[1] | 0x20);
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  if (options.groups != 1 || !is_blocked(in, spatial + 3, 'c') || !is_blocked(kernel, spatial + 4, out_letter) ||
      kernel->primal(0) != letters.str()[1] || options.out_layout.empty() ||
      !is_blocked(make_layout(options.out_layout), spatial + 3, 'c'))
    return nullptr;
  Array<PrimExpr> padding = full_padding(options.padding, spatial);
  std::vector<Dimension> dims;
  for (size_t i = 0; i < spatial; ++i) {
    auto one = dimension(data->shape[2 + i], weight->shape[2 + i], options, i, padding, output_padding[i]);
    if (!one) return nullptr;
    dims.push_back(*one);
  }
  Array<PrimExpr> before(spatial + 3, PrimExpr(0)), after(spatial + 3, PrimExpr(0));
  for (size_t i = 0; i < spatial; ++i) {
    before.set(2 + i, number(dims[i].before));
    after.set(2 + i, number(dims[i].after));
  }
  te::Tensor padded = pad(data, before, after, make_zero(data->dtype), "data_pad");

  // n, blocks of out channels, phases, places, channels of a block
  Array<PrimExpr> shape{data->shape[0], weight->shape[0]}, result_shape = shape;
  std::vector<size_t> split;  // dimensions that have phases
  for (size_t i = 0; i < spatial; ++i)
    if (dims[i].stride > 1) split.push_back(i), shape.push_back(number(dims[i].stride));
  for (const Dimension& dim : dims) shape.push_back(number(dim.count)), result_shape.push_back(number(dim.extent));
  shape.push_back(weight->shape[spatial + 3]);
  result_shape.push_back(shape.back());

  auto axis = [](const char* name, const PrimExpr& extent) { return te::reduce_axis(make_range(0, extent), name); };
  Array<IterVar> steps{axis("dc_outer", weight->shape[1])};
  for (const Dimension& dim : dims) steps.push_back(axis("step", number(dim.steps)));
  steps.push_back(axis("dc_inner", weight->shape[spatial + 2]));
  auto cast = [&](const PrimExpr& e) { return tessera::cast(options.out_dtype, e); };
  te::Tensor phases = te::compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> data_at{at[0], steps[0]->var}, weight_at{at[1], steps[0]->var};
        for (size_t i = 0, phase = 0; i < spatial; ++i) {
          const Dimension& dim = dims[i];
          const Var& step = steps[1 + i]->var;
          PrimExpr place = at[2 + split.size() + i] + number(dim.first + dim.before);
          data_at.push_back(place - step * number(dim.dilation));
          weight_at.push_back(dim.stride > 1 ? at[2 + phase++] + step * number(dim.stride) : PrimExpr(step));
        }
        data_at.push_back(steps.back()->var);
        weight_at.push_back(steps.back()->var);
        weight_at.push_back(at[at.size() - 1]);
        return te::sum(cast(te::load(padded, data_at)) * cast(te::load(weight, weight_at)), steps);
      },
      "compute", "conv" + std::to_string(spatial) + "d_transpose_phases");
  if (split.empty()) return phases;
  return te::compute(
      result_shape,
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> from{at[0], at[1]};
        for (size_t i : split) from.push_back(floormod(at[2 + i] + number(dims[i].begin), number(dims[i].stride)));
        for (size_t i = 0; i < spatial; ++i) {
          const Dimension& dim = dims[i];
          PrimExpr place = at[2 + i] + number(dim.begin);
          from.push_back((dim.stride > 1 ? floordiv(place, number(dim.stride)) : place) - number(dim.first));
        }
        from.push_back(at[at.size() - 1]);
        return te::load(phases, from);
      },
      "phases_together", kInjective);
}

}  // namespace tessera::topi

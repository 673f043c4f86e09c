#include "topi/nn/conv.h"

#include <cctype>

#include "ir/prim_ops.h"
#include "te/reduce.h"
#include "tir/layout.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

const char* spatial_letters(size_t spatial) {
  constexpr const char* kLetters[] = {"W", "HW", "DHW"};
  if (spatial < 1 || spatial > 3) throw Error(ValueError) << "a convolution of " << spatial << " spatial dimensions";
  return kLetters[spatial - 1];
}

std::string lower_case(const std::string& text) {
  std::string out = text;
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

IterVar data_axis(const std::string& name, const PrimExpr& extent) {
  return make_iter_var(make_range(make_zero(extent.dtype()), extent), make_var(name, extent.dtype()),
                       IterType::DataPar);
}

/// The padding of each dimension of a tensor in `layout`, from that of its spatial dimensions.
void layout_padding(const Layout& layout, const Array<PrimExpr>& padding, const std::string& letters,
                    Array<PrimExpr>* before, Array<PrimExpr>* after) {
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    size_t dim = letters.find(layout->letter(i));
    bool is_spatial = dim != std::string::npos;
    before->push_back(is_spatial ? padding[dim] : PrimExpr(0));
    after->push_back(is_spatial ? padding[dim + letters.size()] : PrimExpr(0));
  }
}

}  // namespace

String plain_data_layout(size_t spatial) { return String(std::string("NC") + spatial_letters(spatial)); }
String plain_kernel_layout(size_t spatial) { return String(std::string("OI") + spatial_letters(spatial)); }

PrimExpr window_count(const PrimExpr& extent, const PrimExpr& kernel, const PrimExpr& dilation, const PrimExpr& stride,
                      bool rounds_up) {
  if (extent.as<AnyDim>() || kernel.as<AnyDim>()) return extent.as<AnyDim>() ? extent : kernel;
  PrimExpr room = extent - ((kernel - 1) * dilation + 1);
  if (rounds_up) room = room + stride - 1;
  return floordiv(room, stride) + 1;
}

Array<PrimExpr> full_padding(const Array<PrimExpr>& padding, size_t spatial) {
  if (padding.size() == 2 * spatial) return padding;
  if (padding.size() != 1 && padding.size() != spatial)
    throw Error(ValueError) << "padding of " << spatial << " dimensions has 1, " << spatial << " or " << 2 * spatial
                            << " values, got " << padding.size();
  Array<PrimExpr> out;
  for (int side = 0; side < 2; ++side)
    for (size_t i = 0; i < spatial; ++i) out.push_back(padding[padding.size() == 1 ? 0 : i]);
  return out;
}

te::Tensor conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options) {
  const size_t spatial = options.strides.size();
  const std::string letters = spatial_letters(spatial);
  Layout plain = make_layout(plain_data_layout(spatial)), plain_kernel = make_layout(plain_kernel_layout(spatial));
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  Layout out = options.out_layout.empty() ? in : make_layout(options.out_layout);

  Array<PrimExpr> before, after;
  layout_padding(in, full_padding(options.padding, spatial), letters, &before, &after);
  te::Tensor padded = pad(data, before, after, make_zero(data->dtype), "pad_temp");

  Array<PrimExpr> in_shape = convert_shape(in, plain, padded->shape);
  Array<PrimExpr> kernel_shape = convert_shape(kernel, plain_kernel, weight->shape);
  Array<PrimExpr> shape{in_shape[0], kernel_shape[0]};
  for (size_t i = 0; i < spatial; ++i)
    shape.push_back(window_count(in_shape[2 + i], kernel_shape[2 + i], options.dilation[i], options.strides[i]));

  // One axis per dimension of the result's layout, then back to n, f, y, x.
  const char* names[] = {"nn", "ff"};
  Array<PrimExpr> out_shape = convert_shape(plain, out, shape);
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (size_t i = 0; i < out->axes.size(); ++i) {
    char letter = out->letter(i);
    std::string name = letter == 'N'   ? names[0]
                       : letter == 'C' ? names[1]
                       : letter == 'D' ? "zz"
                       : letter == 'H' ? "yy"
                       : letter == 'W' ? (spatial == 1 ? "yy" : "xx")
                                       : std::string(1, letter);
    axes.push_back(data_axis(name, out_shape[i]));
    at.push_back(axes.back()->var);
  }
  Array<PrimExpr> result = convert_indices(out, plain, at);

  const std::string taps = spatial == 3 ? "zyx" : spatial == 2 ? "yx" : "y";
  IterVar rc = te::reduce_axis(make_range(make_zero(kernel_shape[1].dtype()), kernel_shape[1]), "rc");
  Array<IterVar> reduce;
  Array<PrimExpr> channel_and_place{result[0], rc->var}, weight_at{result[1], rc->var};
  if (options.groups != 1) {
    PrimExpr outputs_per_group = floordiv(shape[1], static_cast<int>(options.groups));
    channel_and_place.set(1, floordiv(result[1], outputs_per_group) * kernel_shape[1] + rc->var);
  }
  for (size_t i = 0; i < spatial; ++i) {
    PrimExpr extent = kernel_shape[2 + i];
    IterVar tap = te::reduce_axis(make_range(make_zero(extent.dtype()), extent), std::string("r") + taps[i]);
    reduce.push_back(tap);
    channel_and_place.push_back(result[2 + i] * options.strides[i] + tap->var * options.dilation[i]);
    weight_at.push_back(tap->var);
  }
  bool channels_last = in->letter(in->axes.size() - 1) == 'C';
  reduce.insert(channels_last ? reduce.size() : 0, rc);  // the axis that lies together in memory goes innermost
  auto cast = [&](const PrimExpr& e) { return tessera::cast(options.out_dtype, e); };
  PrimExpr product = cast(te::load(padded, convert_indices(plain, in, channel_and_place))) *
                     cast(te::load(weight, convert_indices(plain_kernel, kernel, weight_at)));
  std::string name = std::string(options.groups == 1 ? "conv" : "group_conv") + std::to_string(spatial) + "d_" +
                     lower_case(std::string(options.data_layout));
  return te::output(te::compute_op(name, name, {}, axes, {te::sum(product, reduce)}), 0);
}

}  // namespace tessera::topi

#include "topi/nn/conv.h"

#include <cctype>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/nn/axes.h"
#include "topi/nn/conv_phases.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

const char* spatial_letters(size_t spatial) {
  constexpr const char* kLetters[] = {"W", "HW", "DHW"};
  if (spatial < 1 || spatial > 3) throw Error(ValueError) << "a convolution of " << spatial << " spatial dimensions";
  return kLetters[spatial - 1];
}

/// "nchw" of "NCHW"; "NCHWc" of "NCHW16c", the way blocked layouts are called.
std::string layout_name(const String& layout) {
  std::string out;
  bool is_blocked = false;
  for (char c : layout.str()) {
    if (std::isdigit(static_cast<unsigned char>(c))) is_blocked = true;
    else out += c;
  }
  if (!is_blocked)
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// One value for each dimension of `layout`: those of the spatial dimensions, and `other` elsewhere.
Array<PrimExpr> in_layout(const Layout& layout, const Array<PrimExpr>& spatial, int other) {
  const std::string letters = spatial_letters(spatial.size());
  Array<PrimExpr> out;
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    size_t dim = letters.find(layout->letter(i));
    out.push_back(dim == std::string::npos ? PrimExpr(other) : spatial[dim]);
  }
  return out;
}

te::Tensor pad_spatial(const te::Tensor& data, const Layout& layout, const Array<PrimExpr>& padding, const char* name) {
  size_t spatial = padding.size() / 2;
  Array<PrimExpr> begins, ends;
  for (size_t i = 0; i < spatial; ++i) {
    begins.push_back(padding[i]);
    ends.push_back(padding[i + spatial]);
  }
  return pad(data, in_layout(layout, begins, 0), in_layout(layout, ends, 0), make_zero(data->dtype), name);
}

/// What the operation and its loops are called.
struct Names {
  std::string name, tag;
  const char *batch = "nn", *channel = "ff", *reduce = "rc";
  std::vector<std::string> positions{"yy", "xx", "zz"}, kernel{"ry", "rx", "rz"};
};

bool has_blocks(const Layout& layout) {
  for (size_t i = 0; i < layout->axes.size(); ++i)
    if (!layout->is_primal(i)) return true;
  return false;
}

/// The axis over in channels, or several where data and weight have them in the same blocks, or the weight in parts of them: blocks of the
/// weight, and in a block. Where groups of channels are the weight's last dimension (OIHW4i16o4i), groups, and in a group.
Array<IterVar> reduced_channels(const char* name, const PrimExpr& extent, const Layout& in, const Layout& kernel) {
  const int64_t block = kernel->factor_of('I'), data_block = in->factor_of('C');
  const int64_t* channels = as_int(extent);
  const bool is_part = block > 1 && data_block % block == 0 && channels && *channels > block;
  if (block <= 0 || !(data_block == block || is_part)) return {reduce_over(name, extent)};
  auto size = static_cast<int>(block);
  const std::string base = name;
  Array<IterVar> out{reduce_over(base + "_outer", floordiv(extent, size))};
  const size_t last = kernel->axes.size() - 1;
  const int64_t* group = kernel->letter(last) == 'i' ? as_int(kernel->axes[last]->dom->extent) : nullptr;
  if (group) {
    out.push_back(reduce_over(base + "_inner", PrimExpr(static_cast<int>(block / *group))));
    out.push_back(reduce_over(base + "_group", PrimExpr(static_cast<int>(*group))));
  } else {
    out.push_back(reduce_over(base + "_inner", PrimExpr(size)));
  }
  return out;
}

/// A convolution of padded data.
te::Tensor convolve(const te::Tensor& padded, const te::Tensor& weight, const ConvOptions& options,
                    const Names& names) {
  const size_t spatial = options.strides.size();
  Layout plain = make_layout(plain_data_layout(spatial)), plain_kernel = make_layout(plain_kernel_layout(spatial));
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  Layout out = options.out_layout.empty() ? in : make_layout(options.out_layout);
  Array<PrimExpr> in_shape = convert_shape(in, plain, padded->shape);
  Array<PrimExpr> kernel_shape = convert_shape(kernel, plain_kernel, weight->shape);
  const bool by_channel = is_depthwise(options.groups, in_shape[1], kernel_shape);
  const PrimExpr& multiplier = kernel_shape[1];
  Array<PrimExpr> shape{in_shape[0], by_channel ? kernel_shape[0] * multiplier : kernel_shape[0]};
  for (size_t i = 0; i < spatial; ++i)
    shape.push_back(window_count(in_shape[2 + i], kernel_shape[2 + i], options.dilation[i], options.strides[i]));

  // One axis per dimension of the result's layout, then back to n, f, y, x.
  const std::string letters = std::string("NC") + spatial_letters(spatial);
  Array<PrimExpr> out_shape = convert_shape(plain, out, shape), at;
  Array<IterVar> axes;
  for (size_t i = 0; i < out->axes.size(); ++i) {
    size_t dim = letters.find(out->letter(i));
    std::string name = dim == 0                   ? names.batch
                       : dim == 1                 ? names.channel
                       : dim == std::string::npos ? std::string(1, out->letter(i))
                                                  : names.positions[dim - 2];
    axes.push_back(data_axis(name, out_shape[i]));
    at.push_back(axes.back()->var);
  }
  Array<PrimExpr> result = convert_indices(out, plain, at);

  Array<IterVar> reduce, channels;
  Array<PrimExpr> data_at{result[0]}, weight_at;
  const PrimExpr& feature = result[1];
  if (by_channel) {
    data_at.push_back(floordiv(feature, multiplier));
    weight_at = {floordiv(feature, multiplier), floormod(feature, multiplier)};
  } else {
    channels = reduced_channels(names.reduce, kernel_shape[1], in, kernel);
    PrimExpr channel = channels[0]->var;
    for (size_t i = 1; i < channels.size(); ++i) channel = channel * channels[i]->dom->extent + channels[i]->var;
    PrimExpr group = floordiv(feature, floordiv(shape[1], static_cast<int>(options.groups)));
    data_at.push_back(options.groups == 1 ? channel : group * kernel_shape[1] + channel);
    weight_at = {feature, channel};
  }
  for (size_t i = 0; i < spatial; ++i) {
    reduce.push_back(reduce_over(names.kernel[i], kernel_shape[2 + i]));
    const Var& k = reduce.back()->var;
    data_at.push_back(result[2 + i] * options.strides[i] + k * options.dilation[i]);
    weight_at.push_back(k);
  }
  // the axis that lies together in memory goes innermost
  const char last = in->letter(in->axes.size() - 1);
  const bool ends_in_channels = last == 'C' || (last == 'c' && options.groups != 1);
  if (channels.size() == 1) reduce.insert(ends_in_channels ? reduce.size() : 0, channels[0]);
  if (channels.size() > 1) {
    reduce.insert(0, channels[0]);
    for (size_t i = 1; i < channels.size(); ++i) reduce.push_back(channels[i]);
  }

  auto cast = [&](const PrimExpr& e) { return tessera::cast(options.out_dtype, e); };
  data_at = convert_indices(plain, in, data_at);
  weight_at = convert_indices(plain_kernel, kernel, weight_at);
  if (has_blocks(in) || has_blocks(out) || has_blocks(kernel)) {
    arith::Analyzer analyzer;
    for (const Array<IterVar>* all : {&axes, &reduce})
      for (const IterVar& axis : *all) analyzer.bind(axis->var, axis->dom);
    for (Array<PrimExpr>* at : {&data_at, &weight_at})
      for (size_t i = 0; i < at->size(); ++i) at->set(i, analyzer.simplify((*at)[i]));
  }
  PrimExpr product = cast(te::load(padded, data_at)) * cast(te::load(weight, weight_at));
  Map<String, ObjectRef> attrs;
  if (options.data_layout == "NHWC" && options.groups == 1)
    attrs.set("layout_free_placeholders", Array<te::Tensor>{weight});
  return te::output(te::compute_op(names.name, names.tag, attrs, axes, {te::sum(product, reduce)}), 0);
}

}  // namespace

String plain_data_layout(size_t spatial) { return String(std::string("NC") + spatial_letters(spatial)); }
String plain_kernel_layout(size_t spatial) { return String(std::string("OI") + spatial_letters(spatial)); }
String plain_transposed_kernel_layout(size_t spatial) {
  return String(std::string(spatial == 2 ? "IO" : "OI") + spatial_letters(spatial));
}

PrimExpr window_count(const PrimExpr& extent, const PrimExpr& kernel, const PrimExpr& dilation, const PrimExpr& stride,
                      bool rounds_up) {
  if (extent.as<AnyDim>() || kernel.as<AnyDim>()) return extent.as<AnyDim>() ? extent : kernel;
  PrimExpr room = extent - ((kernel - 1) * dilation + 1);
  if (rounds_up) room = room + stride - 1;
  return floordiv(room, stride) + 1;
}

PrimExpr spread_extent(const PrimExpr& count, const PrimExpr& kernel, const PrimExpr& dilation, const PrimExpr& stride,
                       const PrimExpr& padding) {
  if (count.as<AnyDim>() || kernel.as<AnyDim>()) return count.as<AnyDim>() ? count : kernel;
  return (count - 1) * stride + (kernel - 1) * dilation + 1 - padding;
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

bool is_depthwise(int64_t groups, const PrimExpr& in_channels, const Array<PrimExpr>& weight) {
  const int64_t *channels = as_int(in_channels), *first = as_int(weight[0]);
  return groups > 1 && channels && first && *channels == groups && *first == groups;
}

te::Tensor conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options) {
  const size_t spatial = options.strides.size();
  Layout in = make_layout(options.data_layout);
  Array<PrimExpr> in_shape = convert_shape(in, make_layout(plain_data_layout(spatial)), data->shape);
  Array<PrimExpr> kernel_shape =
      convert_shape(make_layout(options.kernel_layout), make_layout(plain_kernel_layout(spatial)), weight->shape);
  Names names;
  const std::string dims = std::to_string(spatial) + "d_" + layout_name(options.data_layout);
  const bool by_channel = spatial == 2 && is_depthwise(options.groups, in_shape[1], kernel_shape);
  if (by_channel) {
    names = {"DepthwiseConv2d", "depthwise_conv" + dims, "b", "c", "", {"i", "j"}, {"di", "dj"}};
  } else {
    names.name = names.tag = (options.groups == 1 ? "conv" : "group_conv") + dims;
  }
  te::Tensor padded =
      pad_spatial(data, in, full_padding(options.padding, spatial), by_channel ? "PaddedInput" : "pad_temp");
  return convolve(padded, weight, options, names);
}

te::Tensor conv_transpose(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                          const Array<PrimExpr>& output_padding) {
  if (te::Tensor phases = conv_transpose_phases(data, weight, options, output_padding)) return phases;
  const size_t spatial = options.strides.size();
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  Layout plain_kernel = make_layout(plain_transposed_kernel_layout(spatial));
  Array<PrimExpr> kernel_shape = convert_shape(kernel, plain_kernel, weight->shape);
  Array<PrimExpr> given = full_padding(options.padding, spatial), padding = given;
  for (size_t i = 0; i < spatial; ++i) {
    PrimExpr reach = (kernel_shape[2 + i] - 1) * options.dilation[i];
    padding.set(i, reach - given[i]);
    padding.set(i + spatial, reach - given[i + spatial] + output_padding[i]);
  }
  te::Tensor apart = dilate(data, in_layout(in, options.strides, 1), make_zero(data->dtype), "data_dilate");
  te::Tensor padded = pad_spatial(apart, in, padding, "data_pad");

  // The weight as (out, in / groups, kernel...), the kernel flipped.
  auto groups = static_cast<int>(options.groups);
  PrimExpr outs = kernel_shape[1], ins = floordiv(kernel_shape[0], groups);
  Array<PrimExpr> turned_shape{outs * groups, ins};
  for (size_t i = 0; i < spatial; ++i) turned_shape.push_back(kernel_shape[2 + i]);
  const std::vector<std::string> letters[] = {{"w"}, {"h", "w"}, {"d", "h", "w"}};
  Array<IterVar> axes{data_axis("o", turned_shape[0]), data_axis("i", turned_shape[1])};
  Array<PrimExpr> at{axes[1]->var, axes[0]->var};
  if (groups != 1) at = {floordiv(axes[0]->var, outs) * ins + axes[1]->var, floormod(axes[0]->var, outs)};
  for (size_t i = 0; i < spatial; ++i) {
    axes.push_back(data_axis(letters[spatial - 1][i], turned_shape[2 + i]));
    at.push_back(kernel_shape[2 + i] - 1 - axes.back()->var);
  }
  te::Tensor turned = te::output(
      te::compute_op("kernel_transform", "", {}, axes, {te::load(weight, convert_indices(plain_kernel, kernel, at))}),
      0);

  ConvOptions unit = options;
  unit.strides = Array<PrimExpr>(spatial, PrimExpr(1));
  unit.kernel_layout = plain_kernel_layout(spatial);
  Names names;
  names.name = "compute";
  names.tag = (groups == 1 ? "conv" : "group_conv") + std::to_string(spatial) + "d_transpose_" +
              layout_name(options.data_layout);
  names.batch = "b";
  names.channel = "c";
  names.reduce = "dc";
  names.positions = names.kernel = letters[spatial - 1];
  for (std::string& name : names.kernel) name.insert(0, "d");
  return convolve(padded, turned, unit, names);
}

te::Tensor conv_backward_weight(const te::Tensor& grad, const te::Tensor& data, const Array<PrimExpr>& kernel_size,
                                const ConvOptions& options) {
  const size_t spatial = options.strides.size();
  Layout plain = make_layout(plain_data_layout(spatial)), plain_kernel = make_layout(plain_kernel_layout(spatial));
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  Layout out = options.out_layout.empty() ? in : make_layout(options.out_layout);
  te::Tensor padded = pad_spatial(data, in, full_padding(options.padding, spatial), "pad_temp");
  Array<PrimExpr> grad_shape = convert_shape(out, plain, grad->shape);
  Array<PrimExpr> data_shape = convert_shape(in, plain, padded->shape);
  PrimExpr ins = floordiv(data_shape[1], static_cast<int>(options.groups));
  Array<PrimExpr> shape{grad_shape[1], ins};
  for (const PrimExpr& count : kernel_size) shape.push_back(count);

  Array<IterVar> reduce{reduce_over("rn", grad_shape[0])};
  for (size_t i = 0; i < spatial; ++i) reduce.push_back(reduce_over("r" + std::to_string(i), grad_shape[2 + i]));
  return compute(
      convert_shape(plain_kernel, kernel, shape), "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> plain_at = convert_indices(kernel, plain_kernel, at);
        PrimExpr group = floordiv(plain_at[0], floordiv(shape[0], static_cast<int>(options.groups)));
        Array<PrimExpr> grad_at{reduce[0]->var, plain_at[0]};
        Array<PrimExpr> data_at{reduce[0]->var, options.groups == 1 ? plain_at[1] : group * ins + plain_at[1]};
        for (size_t i = 0; i < spatial; ++i) {
          const Var& window = reduce[i + 1]->var;
          grad_at.push_back(window);
          data_at.push_back(window * options.strides[i] + plain_at[2 + i] * options.dilation[i]);
        }
        auto cast = [&](const PrimExpr& e) { return tessera::cast(options.out_dtype, e); };
        return te::sum(cast(te::load(grad, convert_indices(plain, out, grad_at))) *
                           cast(te::load(padded, convert_indices(plain, in, data_at))),
                       reduce);
      },
      "conv" + std::to_string(spatial) + "d_backward_weight", "");
}

}  // namespace tessera::topi

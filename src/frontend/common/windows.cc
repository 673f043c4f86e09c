#include "frontend/common/windows.h"

#include <algorithm>
#include <functional>

#include "frontend/common/parts.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

Ints same_padding(const Ints& extents, const Ints& kernel, const Ints& strides, const Ints& dilations,
                  bool more_before) {
  const size_t spatial = kernel.size();
  Ints out(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t wanted = (extents[i] + strides[i] - 1) / strides[i];
    int64_t total = std::max<int64_t>((wanted - 1) * strides[i] + dilated(kernel[i], dilations[i]) - extents[i], 0);
    int64_t less = total / 2, more = total - less;
    out[i] = more_before ? more : less;
    out[i + spatial] = more_before ? less : more;
  }
  return out;
}

namespace {

constexpr const char* kKernelLayouts[] = {"OIW", "OIHW", "OIDHW"};

template <class T>
Expr conv_call(const char* op, const NodeContext& in, const Expr& data, const Expr& filters, const ConvWindows& windows,
               DataType out_dtype) {
  const size_t spatial = windows.spatial();
  DataType dtype = in.dtype(data);
  bool is_short = is_float(dtype) && dtype.bits == 16 && out_dtype.is_void();  // sums of fp16 and bf16 are fp32
  Expr out = call_op(op, {data, filters}, make_attrs<T>([&](auto& attrs) {
                       attrs.strides = int_array(windows.strides);
                       attrs.padding = int_array(windows.padding);
                       attrs.dilation = int_array(windows.dilations);
                       attrs.groups = static_cast<int32_t>(windows.groups);
                       attrs.channels = in.shape(filters)[0];
                       attrs.kernel_size = int_array(windows.kernel);
                       attrs.data_layout = kDataLayouts[spatial - 1];
                       attrs.kernel_layout = kKernelLayouts[spatial - 1];
                       attrs.out_dtype = is_short ? DataType::Float(32) : out_dtype;
                     }));
  return is_short ? cast(out, dtype) : out;
}

template <class T>
Expr pool_call(const char* op, Expr x, const PoolWindows& pool, const std::function<void(T&)>& more) {
  return call_op(op, {x}, make_attrs<T>([&](T& attrs) {
                   attrs.pool_size = int_array(pool.kernel);
                   attrs.strides = int_array(pool.strides);
                   attrs.dilation = int_array(pool.dilations);
                   attrs.padding = int_array(pool.padding);
                   attrs.layout = kDataLayouts[pool.spatial() - 1];
                   attrs.ceil_mode = pool.rounds_up;
                   if (more) more(attrs);
                 }));
}

}  // namespace

Expr convolution(const NodeContext& in, const Expr& data, const Expr& filters, const ConvWindows& windows,
                 DataType out_dtype) {
  const size_t spatial = windows.spatial();
  if (spatial == 1) return conv_call<Conv1DAttrs>("nn.conv1d", in, data, filters, windows, out_dtype);
  if (spatial == 2) return conv_call<Conv2DAttrs>("nn.conv2d", in, data, filters, windows, out_dtype);
  if (spatial == 3) return conv_call<Conv3DAttrs>("nn.conv3d", in, data, filters, windows, out_dtype);
  in.unsupported("a convolution over " + std::to_string(spatial) + " dimensions");
}

PoolWindows pool_windows(const NodeContext& in, Ints kernel, Ints strides, Ints dilations, Ints padding, bool rounds_up,
                         Ints extents) {
  PoolWindows out;
  const size_t spatial = kernel.size();
  if (spatial < 1 || spatial > 3) in.unsupported("a pool over " + std::to_string(spatial) + " dimensions");
  out.kernel = std::move(kernel), out.strides = std::move(strides), out.dilations = std::move(dilations);
  out.padding = out.given = std::move(padding);
  out.rounds_up = rounds_up;
  out.extents = std::move(extents);
  if (out.extents.empty()) return out;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = out.extents[i], window = dilated(out.kernel[i], out.dilations[i]), stride = out.strides[i];
    int64_t before = out.padding[i], after = out.padding[i + spatial], room = extent + before + after - window;
    if (room < 0) in.invalid("a window that is larger than the data");
    int64_t count = (rounds_up ? (room + stride - 1) / stride : room / stride) + 1;
    if (rounds_up) {
      if ((count - 1) * stride >= extent + before) --count;  // it would begin in the padding behind the data
      out.padding[i + spatial] = std::max<int64_t>((count - 1) * stride + window - extent - before, 0);
    }
    out.counts.push_back(count);
  }
  out.rounds_up = false;
  return out;
}

Expr max_pool(Expr x, const PoolWindows& pool) {
  if (pool.spatial() == 1) return pool_call<MaxPool1DAttrs>("nn.max_pool1d", x, pool, {});
  if (pool.spatial() == 2) return pool_call<MaxPool2DAttrs>("nn.max_pool2d", x, pool, {});
  return pool_call<MaxPool3DAttrs>("nn.max_pool3d", x, pool, {});
}

Expr average_pool(Expr x, const PoolWindows& pool, bool counts_padding) {
  auto more = [&](auto& attrs) { attrs.count_include_pad = counts_padding; };
  if (pool.spatial() == 1) return pool_call<AvgPool1DAttrs>("nn.avg_pool1d", x, pool, more);
  if (pool.spatial() == 2) return pool_call<AvgPool2DAttrs>("nn.avg_pool2d", x, pool, more);
  return pool_call<AvgPool3DAttrs>("nn.avg_pool3d", x, pool, more);
}

}  // namespace tessera::frontend

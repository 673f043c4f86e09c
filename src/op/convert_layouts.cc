// What ConvertLayout makes of operators: a call with the layouts that were asked for. "default" means the kernel layout
// that goes with a data layout.

#include "op/records.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/layout_rule.h"
#include "relay/make.h"
#include "runtime/packed_func.h"

namespace tessera::op {
namespace {

using Desired = Array<String>;
using Arguments = Array<Expr>;

/// The kernel layout of data in `data`; `out` and `in` are the letters of its channels in their usual order.
std::string kernel_layout_for(const std::string& data, bool is_depthwise, bool is_transposed) {
  std::string space;
  for (char axis : data)
    if (axis == 'D' || axis == 'H' || axis == 'W') space += axis;
  if (data == "NC" + space) return (is_transposed ? "IO" : "OI") + space;
  if (data == "N" + space + "C") return space + (is_depthwise || is_transposed ? "OI" : "IO");
  throw Error(ValueError) << "ConvertLayout: there is no default kernel layout for data in " << data
                          << "; give both layouts";
}

bool is_depthwise(const relay::ConvAttrs* attrs, const Arguments& args) {
  if (attrs->groups == 1) return false;
  const Type& type = args[1]->checked_type_;
  Layout kernel = make_layout(attrs->kernel_layout);
  auto* weight = type.as<TensorTypeNode>();
  if (!weight) return attrs->groups > 1;
  return relay::extent_of(kernel, weight->shape, 'O') == attrs->groups &&
         relay::extent_of(kernel, weight->shape, 'I') == 1;
}

template <class T, bool kTransposed>
Expr convert_conv(const Op& op, const Attrs& attrs, const Arguments& args, const Desired& desired) {
  auto* given = cast_or_null<T>(attrs.get());
  if (desired.empty() || !given) return nullptr;
  bool depthwise = false;
  if constexpr (!kTransposed) depthwise = is_depthwise(given, args);
  bool is_default = desired.size() < 2 || desired[1] == "default";
  return relay::make_call(op, args, relay::changed_attrs<T>(attrs, [&](T& a) {
                            a.data_layout = desired[0] == "default" ? given->data_layout : desired[0];
                            a.kernel_layout =
                                is_default ? String(kernel_layout_for(a.data_layout.str(), depthwise, kTransposed))
                                           : desired[1];
                          }));
}

template <class T>
Expr convert_spatial(const Op& op, const Attrs& attrs, const Arguments& args, const Desired& desired) {
  if (desired.empty() || !attrs.as<T>()) return nullptr;
  return relay::make_call(op, args, relay::changed_attrs<T>(attrs, [&](T& a) {
                            a.layout = desired[0];
                            if constexpr (requires { a.out_layout; }) a.out_layout = desired[0];
                          }));
}

using Conversion = Expr (*)(const Op&, const Attrs&, const Arguments&, const Desired&);
struct Row {
  const char* op;
  Conversion conversion;
};
const Row kRows[] = {
    {"nn.conv1d", convert_conv<relay::ConvAttrs, false>},
    {"nn.conv2d", convert_conv<relay::ConvAttrs, false>},
    {"nn.conv3d", convert_conv<relay::ConvAttrs, false>},
    {"nn.conv1d_transpose", convert_conv<relay::ConvTransposeAttrs, true>},
    {"nn.conv2d_transpose", convert_conv<relay::ConvTransposeAttrs, true>},
    {"nn.conv3d_transpose", convert_conv<relay::ConvTransposeAttrs, true>},
    {"nn.max_pool2d", convert_spatial<relay::PoolAttrs>},
    {"nn.avg_pool2d", convert_spatial<relay::PoolAttrs>},
    {"nn.max_pool3d", convert_spatial<relay::PoolAttrs>},
    {"nn.avg_pool3d", convert_spatial<relay::PoolAttrs>},
    {"nn.global_max_pool2d", convert_spatial<relay::GlobalPool2DAttrs>},
    {"nn.global_avg_pool2d", convert_spatial<relay::GlobalPool2DAttrs>},
    {"image.resize2d", convert_spatial<relay::ResizeAttrs>},
};

}  // namespace

void layout_conversions() {
  for (const Row& row : kRows) {
    Op op = Op::find(row.op);
    if (!op) continue;
    auto convert = [op, conversion = row.conversion](Attrs attrs, Arguments args, Array<ObjectRef>, Desired desired) {
      return conversion(op, attrs, args, desired);
    };
    op.set(relay::kConvertOpLayout, Any(typed(std::string(row.op) + " conversion", convert)));
  }
}

}  // namespace tessera::op

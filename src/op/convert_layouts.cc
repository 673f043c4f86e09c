// What ConvertLayout makes of operators.

#include "op/layout_rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/layout_rule.h"
#include "relay/make.h"

namespace tessera::op::layout {

using relay::Expr;

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

}  // namespace

template <class T>
Expr convert_conv(const Op& op, const Attrs& attrs, const Arguments& args, const Desired& desired) {
  constexpr bool kTransposed = std::is_same_v<T, relay::ConvTransposeAttrs>;
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

template Expr convert_conv<relay::ConvAttrs>(const Op&, const Attrs&, const Arguments&, const Desired&);
template Expr convert_conv<relay::ConvTransposeAttrs>(const Op&, const Attrs&, const Arguments&, const Desired&);
template Expr convert_spatial<relay::PoolAttrs>(const Op&, const Attrs&, const Arguments&, const Desired&);
template Expr convert_spatial<relay::GlobalPool2DAttrs>(const Op&, const Attrs&, const Arguments&, const Desired&);
template Expr convert_spatial<relay::ResizeAttrs>(const Op&, const Attrs&, const Arguments&, const Desired&);

}  // namespace tessera::op::layout

// DynamicToStatic: an operator that takes a shape as a tensor becomes its static form where that tensor is known.
//
//   dyn.reshape(%x, shape_of(%y: (3, 4)))    =>    reshape(%x, newshape=[3, 4])

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/pass.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/infer_type.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

using Ints = std::vector<int64_t>;

/// An operator whose one shape argument, the last, fills an array among its attributes.
template <class T>
Expr fill_last(const Call* call, const char* name, Array<PrimExpr> T::* field) {
  size_t last = call->args.size() - 1;
  auto values = constant_ints(call->args[last]);
  if (!values) return nullptr;
  Array<Expr> args = call->args;
  args.pop_back();
  return call_op(name, args, changed_attrs<T>(call->attrs, [&](auto& a) { a.*field = int_array(*values); }));
}

/// An extent of 1 asks for nothing: the data's stays (ONNX's Expand).
Expr static_broadcast_to(const Call* call) {
  auto values = constant_ints(call->args[1]);
  auto* data = call->args[0]->checked_type_.as<TensorTypeNode>();
  if (!values || !data || data->shape.size() > values->size()) return nullptr;
  size_t extra = values->size() - data->shape.size();
  for (size_t i = extra; i < values->size(); ++i) {
    if ((*values)[i] != 1) continue;
    const int64_t* extent = as_int(data->shape[i - extra]);
    if (!extent) return nullptr;
    (*values)[i] = *extent;
  }
  return call_op("broadcast_to", {call->args[0]},
                 changed_attrs<InitOpAttrs>(call->attrs, [&](auto& a) { a.shape = int_array(*values); }));
}

/// Attributes hold 32 bits; numbers beyond stay arguments, whose shape function says what is wrong with them.
bool fits_int32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

Expr static_slice(const Call* call) {
  auto begin = constant_ints(call->args[1]), end = constant_ints(call->args[2]), strides = constant_ints(call->args[3]);
  if (!begin || !end || !strides) return nullptr;
  for (Ints* list : {&*begin, &*end, &*strides})  // further outside than any extent is as far as an extent
    for (int64_t& number : *list) number = std::clamp<int64_t>(number, -INT32_MAX, INT32_MAX);
  return call_op("strided_slice", {call->args[0]}, changed_attrs<StridedSliceAttrs>(call->attrs, [&](auto& a) {
                   a.begin = int_array(*begin);
                   a.end = int_array(*end);
                   a.strides = int_array(*strides);
                 }));
}

Expr static_topk(const Call* call) {
  auto k = constant_ints(call->args[1]);
  if (!k || k->size() != 1) return nullptr;
  if ((*k)[0] < 1 && call->attrs_as<TopkAttrs>()->k) return nullptr;  // the static form takes all instead
  return call_op("topk", {call->args[0]},
                 changed_attrs<TopkAttrs>(call->attrs, [&](auto& a) { a.k = int_imm(DataType::Int(32), (*k)[0]); }));
}

Expr static_one_hot(const Call* call) {
  auto depth = constant_ints(call->args[3]);
  if (!depth || depth->size() != 1 || !fits_int32((*depth)[0])) return nullptr;
  return call_op(
      "one_hot", {call->args[0], call->args[1], call->args[2]},
      changed_attrs<OneHotAttrs>(call->attrs, [&](auto& a) { a.depth = static_cast<int32_t>((*depth)[0]); }));
}

Expr static_expand_dims(const Call* call) {
  auto axis = constant_ints(call->args[1]);
  if (!axis || axis->size() != 1 || !fits_int32((*axis)[0])) return nullptr;
  return expand_dims(call->args[0], static_cast<int>((*axis)[0]), call->attrs_as<DynExpandDimsAttrs>()->num_newaxis);
}

Expr static_pad(const Call* call) {
  auto widths = constant_ints(call->args[1]);
  if (!widths || widths->size() % 2 != 0) return nullptr;
  return call_op("nn.pad", {call->args[0], call->args[2]}, changed_attrs<PadAttrs>(call->attrs, [&](auto& a) {
                   a.pad_width = {};
                   for (size_t i = 0; i < widths->size(); i += 2)
                     a.pad_width.push_back(int_array({(*widths)[i], (*widths)[i + 1]}));
                 }));
}

Expr static_upsampling(const Call* call) {
  auto height = scalar_value(call->args[1]), width = scalar_value(call->args[2]);
  if (!height || !width) return nullptr;
  return call_op("nn.upsampling", {call->args[0]}, changed_attrs<UpSamplingAttrs>(call->attrs, [&](auto& a) {
                   a.scale_h = *height;
                   a.scale_w = *width;
                 }));
}

Expr static_upsampling3d(const Call* call) {
  auto depth = scalar_value(call->args[1]), height = scalar_value(call->args[2]), width = scalar_value(call->args[3]);
  if (!depth || !height || !width) return nullptr;
  return call_op("nn.upsampling3d", {call->args[0]}, changed_attrs<UpSampling3DAttrs>(call->attrs, [&](auto& a) {
                   a.scale_d = *depth;
                   a.scale_h = *height;
                   a.scale_w = *width;
                 }));
}

Expr static_resize(const Call* call) {
  auto size = constant_ints(call->args[1]);
  auto* roi = call->args[2].as<Constant>();
  bool uses_roi = call->attrs_as<Resize2DAttrs>()->coordinate_transformation_mode == "tf_crop_and_resize";
  if (!size || size->size() != 2 || !roi || uses_roi) return nullptr;
  return call_op("image.resize2d", {call->args[0]},
                 changed_attrs<Resize2DAttrs>(call->attrs, [&](auto& a) { a.size = int_array(*size); }));
}

Expr static_sparse_to_dense(const Call* call) {
  auto shape = constant_ints(call->args[3]);
  if (!shape) return nullptr;
  return call_op("sparse_to_dense", {call->args[0], call->args[1], call->args[2]},
                 make_attrs<SparseToDenseAttrs>([&](auto& a) { a.output_shape = int_array(*shape); }));
}

Expr static_form(const Call* call) {
  std::string_view name = op_name(call);
  if (!name.starts_with("dyn.")) return nullptr;
  if (name == "dyn.reshape") return fill_last<ReshapeAttrs>(call, "reshape", &ReshapeAttrs::newshape);
  if (name == "dyn.squeeze") return fill_last<SqueezeAttrs>(call, "squeeze", &SqueezeAttrs::axis);
  if (name == "dyn.tile") return fill_last<TileAttrs>(call, "tile", &TileAttrs::reps);
  if (name == "dyn.broadcast_to") return static_broadcast_to(call);
  if (name == "dyn.zeros") return fill_last<InitOpAttrs>(call, "zeros", &InitOpAttrs::shape);
  if (name == "dyn.ones") return fill_last<InitOpAttrs>(call, "ones", &InitOpAttrs::shape);
  if (name == "dyn.full") return fill_last<InitOpAttrs>(call, "full", &InitOpAttrs::shape);
  if (name == "dyn.strided_slice") return static_slice(call);
  if (name == "dyn.topk") return static_topk(call);
  if (name == "dyn.one_hot") return static_one_hot(call);
  if (name == "dyn.expand_dims") return static_expand_dims(call);
  if (name == "dyn.nn.pad") return static_pad(call);
  if (name == "dyn.nn.upsampling") return static_upsampling(call);
  if (name == "dyn.nn.upsampling3d") return static_upsampling3d(call);
  if (name == "dyn.image.resize2d") return static_resize(call);
  if (name == "dyn.sparse_to_dense") return static_sparse_to_dense(call);
  return nullptr;
}

/// One walk from operands to users: shapes that become known on the way are used at once.
Expr make_static(const Expr& root, bool* changed_any) {
  return rewrite(root, [changed_any](Rewriter& self, const Call* call) -> Expr {
    Expr post = self.children(call);
    if (!call->op.as<OpNode>()) return post;
    if (post.get() != call) {
      Call fresh(*post.as<Call>());
      fresh.checked_type_ = nullptr;
      post = typed(make(std::move(fresh)));
    }
    if (Expr shape = shape_constant(post.as<Call>())) return shape;
    Expr out = static_form(post.as<Call>());
    if (!out) return post;
    *changed_any = true;
    return typed(out);
  });
}

bool has_dynamic(const Expr& root) {
  bool found = false;
  walk(root, [&](const Call* call) { found = found || op_name(call).starts_with("dyn."); });
  return found;
}

Function dynamic_to_static(Function function, const IRModule& mod) {
  for (bool again = has_dynamic(function->body); again;) {
    again = false;
    Expr body = make_static(fold_constant(function->body), &again);
    FunctionNode next(*function);
    next.body = body;
    next.ret_type = again ? Type() : function->ret_type;
    next.checked_type_ = nullptr;
    function = downcast<Function>(infer_type(make(std::move(next)), mod));
    again = again && has_dynamic(function->body);
  }
  return function;
}

Globals globals{
    {"relay._transform.DynamicToStatic",
     [] {
       return function_pass(make_pass_info(2, "DynamicToStatic"),
                            [](const Function& function, const IRModule& mod, const PassContext&) {
                              return dynamic_to_static(function, mod);
                            });
     }},
};

}  // namespace
}  // namespace tessera::relay

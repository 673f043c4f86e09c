// Elements as another type or brought into a range.

#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/tensor/concrete_forms.h"
#include "relay/attrs/transform.h"
#include "topi/elementwise.h"

namespace tessera::op {
namespace {

using relay::CastAttrs;
using relay::ClipAttrs;
using relay::FixedPointMultiplyAttrs;

bool cast_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType(data->shape, query.attrs_as<CastAttrs>()->dtype));
  return true;
}

bool cast_like_type(TypeQuery& query) {
  auto *data = query.tensor(0), *like = query.tensor(1);
  if (!data || !like) return false;
  query.result(TensorType(data->shape, like->dtype));
  return true;
}

bool reinterpret_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  DataType dtype = query.attrs_as<CastAttrs>()->dtype;
  if (dtype.bits != data->dtype.bits || dtype.lanes != data->dtype.lanes)
    throw Error(TypeError) << "the bits of " << to_text(data->dtype) << " cannot be read as " << to_text(dtype)
                           << ": the types differ in size";
  query.result(TensorType(data->shape, dtype));
  return true;
}

}  // namespace

static void cast_records() {
  OpRecord("cast")
      .doc("The elements as another type.")
      .attrs<CastAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Cast", cast_type)
      .fusion(Fusion::Elementwise)
      .precision(Precision::Follow)
      .flops(0)
      .layout(layout::elementwise)
      .evaluate(evaluate_arithmetic)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::cast(in[0], attrs.as<CastAttrs>()->dtype)};
      });
  OpRecord("cast_like")
      .doc("The elements as the type of another tensor's.")
      .input("data", "the input")
      .input("dtype_like", "what has the type")
      .support_level(3)
      .type("CastLike", cast_like_type)
      .fusion(Fusion::Elementwise)
      .concrete_form(concrete_cast)
      .flops(0)
      .numeric(false)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return Tensors{topi::cast(in[0], in[1]->dtype)}; });
  OpRecord("reinterpret")
      .doc("The bits of the elements read as another type.")
      .attrs<CastAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Reinterpret", reinterpret_type)
      .fusion(Fusion::Elementwise)
      .flops(0)
      .numeric(false)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::reinterpret(in[0], attrs.as<CastAttrs>()->dtype)};
      });
  OpRecord("clip")
      .doc("Each element brought into [a_min, a_max].")
      .attrs<ClipAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .precision(Precision::Follow)
      .stateful(false)
      .layout(layout::elementwise)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<ClipAttrs>();
        DataType dtype = in[0]->dtype;
        return Tensors{topi::clip(in[0], make_const(dtype, attrs->a_min), make_const(dtype, attrs->a_max))};
      });
  OpRecord("fixed_point_multiply")
      .doc("data * multiplier * 2^(shift - 31), rounded, in 32-bit integers.")
      .attrs<FixedPointMultiplyAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .stateful(false)
      .layout(layout::elementwise)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<FixedPointMultiplyAttrs>();
        return Tensors{topi::fixed_point_multiply(in[0], attrs->multiplier, attrs->shift)};
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily cast_family{cast_records};

}  // namespace tessera::op

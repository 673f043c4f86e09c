// qnn.conv2d and qnn.dense on the integers that a target multiplies quickly: uint8 by int8 on x86, int8 by int8 on ARM with
// dotprod and on GPUs, and plain layers of int16 elsewhere.

#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::op {
namespace {

constexpr double kHalfRange = 128;

/// Integers of eight bits as those of the other kind, with the zero point that they have then.
struct Shifted {
  Expr data, zero;
};
Shifted shifted(const Expr& data, const Expr& zero, DataType from, DataType to) {
  if (from == to) return {data, zero};
  const double by = to.is_uint() ? kHalfRange : -kHalfRange;
  auto known = number_of(zero);
  Expr new_zero = known ? relay::make_scalar(*known + by, DataType::Int(32))
                        : relay::add(zero, relay::make_scalar(by, DataType::Int(32)));
  Expr wide = relay::add(relay::cast(data, DataType::Int(32)), relay::make_scalar(by, DataType::Int(32)));
  return {relay::cast(wide, to), new_zero};
}

Expr of_types(const char* op, const Attrs& attrs, Array<Expr> args, const Array<Type>& types, DataType data,
              DataType weight) {
  const DataType from[] = {tensor_of(types[0])->dtype, tensor_of(types[1])->dtype}, to[] = {data, weight};
  if (from[0] == data && from[1] == weight) return nullptr;
  for (size_t i : {0, 1}) {
    Shifted one = shifted(args[i], args[i + 2], from[i], to[i]);
    args.set(i, one.data);
    args.set(i + 2, one.zero);
  }
  return relay::call_op(op, args, attrs);
}

/// The layer of what the integers are above their zero points.
Expr in_int16(const char* plain, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types, int axis) {
  const DataType int16 = DataType::Int(16);
  Array<Expr> centred;
  for (size_t i : {0, 1}) {
    Expr x = relay::cast(args[i], int16);
    if (number_of(args[i + 2]) != 0.0) {
      const size_t rank = tensor_of(types[i])->shape.size();
      Expr zero = along_axis(args[i + 2], types[i + 2], i == 0 ? -1 : axis, rank);
      x = relay::subtract(x, relay::cast(zero, int16));
    }
    centred.push_back(x);
  }
  return relay::call_op(plain, centred, attrs);
}

Canonicalize target_form(const char* op, const char* plain, int weight_axis) {
  return [=](const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
             const relay::GraphEnvironment& environment) -> Expr {
    const DataType int8 = DataType::Int(8), uint8 = DataType::UInt(8);
    const DataType data = tensor_of(types[0])->dtype, weight = tensor_of(types[1])->dtype;
    if (data.bits != 8 || weight.bits != 8) return nullptr;
    if (names_cpu(environment) && has_feature(environment, "sse4.1"))
      return of_types(op, attrs, args, types, uint8, int8);
    if (!environment.is_for_cpu() || has_feature(environment, "dotprod"))
      return data == weight ? nullptr : of_types(op, attrs, args, types, int8, int8);
    return in_int16(plain, attrs, args, types, weight_axis);
  };
}

}  // namespace

static void target_forms() {
  Op::get("qnn.conv2d").set(kQnnTargetForm, canonicalization("qnn.conv2d", target_form("qnn.conv2d", "nn.conv2d", 0)));
  Op::get("qnn.dense").set(kQnnTargetForm, canonicalization("qnn.dense", target_form("qnn.dense", "nn.dense", 0)));
}

[[gnu::init_priority(kFamilies)]] static const OpFamily target_form_family{target_forms, FillOrder::MoreSlots};

}  // namespace tessera::op

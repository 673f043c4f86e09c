// Numbers of the program itself, which TorchScript computes beside tensors.

#include "frontend/common/parts.h"
#include "frontend/torch/promote.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Value extent_value(const Operation& in, const Expr& x, int axis) {
  if (auto* extent = in.shape(x)[static_cast<size_t>(axis)].as<IntImm>()) return Value::of(extent->value);
  return Value::number(Value::Int, extent_at_run_time(in, x, axis));
}

Values size_of(Operation& in) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  if (in.has("dim")) return {extent_value(in, x, in.axis(in.integer("dim"), rank))};
  std::vector<Value> out;
  for (size_t i = 0; i < rank; ++i) out.push_back(extent_value(in, x, static_cast<int>(i)));
  return {Value::of(std::move(out))};
}
Values shape_as_tensor(Operation& in) { return {in.int_vector(size_of(in)[0])}; }
Values number_of_elements(Operation& in) {
  Expr x = in[0];
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(x)) return {Value::of(product_of(*shape))};
  Expr out;
  for (size_t i = 0; i < in.rank(x); ++i) {
    Expr extent = extent_at_run_time(in, x, static_cast<int>(i));
    out = out.defined() ? multiply(out, extent) : extent;
  }
  return {Value::number(Value::Int, out)};
}
Values rank_of_tensor(Operation& in) { return {Value::of(static_cast<int64_t>(in.rank(in[0])))}; }

/// The element of a tensor, or a number, as a number of this kind.
Converter as_number(Value::Kind kind) {
  return [kind](Operation& in) {
    const Value& x = in.value(0);
    auto known = [&](double real, int64_t integer) {
      return kind == Value::Float ? Value::of(real) : kind == Value::Int ? Value::of(integer) : Value::of(real != 0);
    };
    if (x.is_known_number()) return Values{known(x.as_real(), x.kind == Value::Float ? whole_part(x.real) : x.integer)};
    Expr own = in.tensor_of(x);
    if (kind != Value::Float) {
      if (std::optional<int64_t> integer = in.dtype(own).is_integral() ? in.known_int(x) : std::nullopt)
        return Values{known(static_cast<double>(*integer), *integer)};
    }
    if (own.as<Constant>())
      if (std::optional<double> real = in.constant_number(own)) return Values{known(*real, whole_part(*real))};
    if (in.rank(own) != 0) own = reshape(own, Array<PrimExpr>());
    const DataType dtype = kind == Value::Float ? DataType::Float(64)
                           : kind == Value::Int ? DataType::Int(64)
                                                : DataType::Bool();
    return Values{Value::number(kind, as_type(in, own, dtype))};
  };
}
/// A number of the tensor's own kind.
Values item_of(Operation& in) {
  const Value& x = in.value(0);
  if (x.is_number()) return {x};
  const DataType dtype = in.dtype(x.expr());
  return as_number(dtype.is_bool() ? Value::Bool : dtype.is_integral() ? Value::Int : Value::Float)(in);
}
Values to_tensor(Operation& in) {
  const Value& x = in.value(0);
  if (x.is_known_number()) return {in.tensor_of(x)};
  return {Value(x.expr())};
}

// ---- questions ------------------------------------------------------------------------------------------------------

Values is_same(Operation& in) {
  const Value *a = in.has(0) ? &in.value(0) : nullptr, *b = in.has(1) ? &in.value(1) : nullptr;
  bool same = a == b;
  if (a && b) same = a->kind == b->kind && a->cell == b->cell && a->integer == b->integer && a->real == b->real;
  return {Value::of(same == (in.name() == "__is__"))};
}
Values dtype_number(Operation& in) { return {Value::of(scalar_type_of(in.dtype(in[0])))}; }
Values device_of(Operation&) { return {Value::of(std::string("cpu"))}; }
Values nothing(Operation&) { return {Value()}; }
Values is_floating(Operation& in) { return {Value::of(is_float(in.dtype(in[0])))}; }
Converter constant_truth(bool truth) {
  return [truth](Operation&) { return Values{Value::of(truth)}; };
}
Converter same_as(size_t i) {
  return [i](Operation& in) { return Values{in.has(i) ? in.value(i) : Value()}; };
}

Converter real_function(double (*of)(double)) {
  return [of](Operation& in) {
    const double out = of(in.real_of(in.value(0), "the number"));
    const std::string name = in.name();
    if (name == "ceil" || name == "floor" || name == "trunc") return Values{Value::of(whole_part(out))};
    return Values{Value::of(out)};
  };
}

/// The least or greatest of numbers, by what the operator does with tensors.
Converter by_tensor_op(const char* op) {
  return [op](Operation& in) {
    const Value &a = in.value(0), &b = in.value(1);
    if (a.is_known_number() && b.is_known_number()) {
      const bool takes_first = (a.as_real() > b.as_real()) == (std::string_view(op) == "maximum");
      return Values{takes_first ? a : b};
    }
    const DataType dtype = promoted(in, {a, b});
    return Values{Value::number(Value::Int, call_op(op, {as_type(in, a, dtype), as_type(in, b, dtype)}))};
  };
}

}  // namespace

Rows number_rows() {
  return {
      {"aten::Bool", as_number(Value::Bool)},
      {"aten::Float", as_number(Value::Float)},
      {"aten::FloatImplicit", as_number(Value::Float)},
      {"aten::Int", as_number(Value::Int)},
      {"aten::IntImplicit", as_number(Value::Int)},
      {"aten::ScalarImplicit", item_of},
      {"aten::__is__", is_same},
      {"aten::__isnot__", is_same},
      {"aten::__range_length",
       [](Operation& in) -> Values {
         const int64_t low = in.int_of(in.value(0), "low"), high = in.int_of(in.value(1), "high"),
                       by = in.int_of(in.value(2), "step");
         if (by == 0) in.invalid("the step is 0");
         return {Value::of(std::max<int64_t>(0, by > 0 ? (high - low + by - 1) / by : (low - high - by - 1) / -by))};
       }},
      {"aten::__derive_index",
       [](Operation& in) -> Values {
         const Value& index = in.value(0);
         const int64_t start = in.int_of(in.value(1), "start"), step = in.int_of(in.value(2), "step");
         if (index.is_known_number()) return {Value::of(start + index.integer * step)};
         return {Value::number(Value::Int, add(multiply(index.expr(), make_scalar(double(step), DataType::Int(64))),
                                               make_scalar(double(start), DataType::Int(64))))};
       }},
      {"aten::_assert_async", nothing},
      {"aten::_assert_scalar", nothing},
      {"aten::_assert_tensor_metadata", nothing},
      {"aten::_local_scalar_dense", item_of},
      {"aten::_shape_as_tensor", shape_as_tensor},
      {"aten::device", device_of},
      {"aten::dim", rank_of_tensor},
      {"aten::get_device", device_of},
      {"aten::is_floating_point", is_floating},
      {"aten::item", item_of},
      {"aten::numel", number_of_elements},
      {"aten::size", size_of},
      {"aten::sym_constrain_range", nothing},
      {"aten::sym_constrain_range_for_size", nothing},
      {"aten::sym_numel", number_of_elements},
      {"aten::sym_size", size_of},
      {"aten::warn", nothing},
      {"math::ceil", real_function(std::ceil)},
      {"math::floor", real_function(std::floor)},
      {"math::sqrt", real_function(std::sqrt)},
      {"math::trunc", real_function(std::trunc)},
      {"prim::GetDevice", device_of},
      {"prim::ImplicitTensorToNum", item_of},
      {"prim::NumToTensor", to_tensor},
      {"prim::Print", nothing},
      {"prim::RaiseException", nothing},
      {"prim::device", device_of},
      {"prim::dtype", dtype_number},
      {"prim::is_cuda", constant_truth(false)},
      {"prim::is_quantized", [](Operation& in) -> Values { return {Value::of(in.value(0).quantized != nullptr)}; }},
      {"prim::layout", [](Operation&) -> Values { return {Value::of(int64_t{0})}; }},
      {"prim::max", by_tensor_op("maximum")},
      {"prim::min", by_tensor_op("minimum")},
      {"prim::requires_grad", constant_truth(false)},
      {"prim::unchecked_cast", same_as(0)},
      {"prim::unchecked_unwrap_optional", same_as(0)},
      {"aten::_unwrap_optional", same_as(0)},
  };
}

}  // namespace tessera::torch

// Contractions of integers that stand for real numbers: qnn.conv2d, qnn.conv2d_transpose, qnn.dense, qnn.batch_matmul.
// Results are sums of int32, whose scale is the product of the operands' and whose zero point is 0.

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

using relay::add;
using relay::Conv2DAttrs;
using relay::multiply;
using relay::subtract;

Expr int_number(int64_t value) { return relay::make_constant(int_scalar(value, kInt32)); }

constexpr char kConv[] = "nn.conv2d", kConvTranspose[] = "nn.conv2d_transpose", kDense[] = "nn.dense",
               kBatchMatmul[] = "nn.batch_matmul";

/// The rule of the plain operator, which looks at the first two arguments.
template <const char* plain>
bool contraction_type(TypeQuery& query) {
  for (int i : {2, 3})
    if (query.tensor(i) && query.tensor(i)->dtype != kInt32)
      throw Error(TypeError) << "a zero point must be int32, but is " << to_text(query.type(i));
  if (!query.tensor(2) || !query.tensor(3) || !query.tensor(4) || !query.tensor(5)) return false;
  auto rule = Op::get(plain).slot(relay::kTypeRule).to<Ref<relay::TypeRuleSlot>>();
  return rule->rule(query);
}

Expr sum_of(const Expr& x, const Array<PrimExpr>& axes, bool keeps) {
  return relay::sum(relay::cast(x, kInt32), axes, keeps);
}

///   sum over k of (x - a)(y - b)  =  x . y - b * sum(x) - a * sum(y) + k * a * b
struct Terms {
  Expr plain, of_x, of_y;  // of_x and of_y: sums over k, as they meet the result
  Expr x_zero, y_zero;
  int64_t depth;
};
Expr with_corrections(const Terms& terms) {
  const bool has_x_zero = number_of(terms.x_zero) != 0.0, has_y_zero = number_of(terms.y_zero) != 0.0;
  Expr out = terms.plain;
  if (has_y_zero) out = subtract(out, multiply(terms.y_zero, terms.of_x));
  if (!has_x_zero) return out;
  if (!has_y_zero) return subtract(out, terms.of_y);
  auto a = number_of(terms.x_zero), b = number_of(terms.y_zero);
  Expr all = a && b ? int_number(static_cast<int64_t>(*a * *b) * terms.depth)
                    : multiply(multiply(terms.x_zero, terms.y_zero), int_number(terms.depth));
  return add(out, subtract(all, terms.of_y));
}

int64_t depth_of(const Type& type, size_t axis) {
  const int64_t* depth = as_int(tensor_of(type)->shape[axis]);
  if (!depth) throw Error(NotImplementedError) << "quantised matmuls of operands whose depth is not a number";
  return *depth;
}

Expr plain_dense(const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                 const relay::GraphEnvironment&) {
  Terms terms;
  const auto last = static_cast<int>(tensor_of(types[0])->shape.size()) - 1;
  terms.plain = relay::call_op("nn.dense", {args[0], args[1]}, attrs);
  terms.of_x = sum_of(args[0], {PrimExpr(last)}, true);
  terms.of_y = multiply(args[2], sum_of(args[1], {1}, false));
  terms.x_zero = args[2], terms.y_zero = args[3];
  terms.depth = depth_of(types[1], 1);
  return with_corrections(terms);
}

Expr plain_batch_matmul(const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                        const relay::GraphEnvironment&) {
  auto* options = attrs.as<relay::BatchMatmulAttrs>();
  if (options->transpose_a || !options->transpose_b)
    throw Error(NotImplementedError) << "qnn.batch_matmul takes its second operand transposed, and only that";
  Terms terms;
  terms.plain = relay::call_op("nn.batch_matmul", {args[0], args[1]}, attrs);
  terms.of_x = sum_of(args[0], {2}, true);
  terms.of_y = relay::reshape(multiply(args[2], sum_of(args[1], {2}, true)),
                              {PrimExpr(0), PrimExpr(1), tensor_of(types[1])->shape[1]});
  terms.x_zero = args[2], terms.y_zero = args[3];
  terms.depth = depth_of(types[0], 2);
  return with_corrections(terms);
}

/// Padding is by the zero point, which stands for 0.
Expr padded(const Expr& data, const Expr& zero, const Conv2DAttrs* attrs, Conv2DAttrs* changed) {
  Array<PrimExpr> padding = topi::full_padding(attrs->padding, 2);
  bool is_none = true;
  for (const PrimExpr& amount : padding) is_none = is_none && is_zero(amount);
  if (is_none) return data;
  Layout layout = make_layout(attrs->data_layout);
  changed->padding = {0, 0, 0, 0};
  return relay::call_op("nn.pad", {data, zero}, relay::make_attrs<relay::PadAttrs>([&](auto& pad) {
                          for (size_t i = 0; i < layout->axes.size(); ++i) {
                            const char letter = layout->letter(i);
                            const int at = letter == 'H' ? 0 : letter == 'W' ? 1 : -1;
                            Array<PrimExpr> around{0, 0};
                            if (at >= 0) around = {padding[size_t(at)], padding[size_t(at) + 2]};
                            pad.pad_width.push_back(around);
                          }
                        }));
}

/// Integers of which 0 stands for 0.
Expr without_zero(const Expr& x, const Expr& zero) {
  Expr wide = relay::cast(x, kInt32);
  return number_of(zero) == 0.0 ? wide : subtract(wide, zero);
}
Expr centred_weight(const Array<Expr>& args, const Array<Type>& types, const Layout& kernel) {
  Expr zero = args[3];
  if (!tensor_of(types[3])->shape.empty())
    zero = along_axis(zero, types[3], kernel->index_of('O'), kernel->axes.size());
  return without_zero(args[1], zero);
}

/// The border of a transposed convolution is cropped from its result, so that no data is made up.
Expr plain_conv_transpose(const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                          const relay::GraphEnvironment&) {
  Layout kernel = make_layout(attrs.as<relay::Conv2DTransposeAttrs>()->kernel_layout);
  return relay::make_call(Op::get(kConvTranspose),
                          {without_zero(args[0], args[2]), centred_weight(args, types, kernel)}, attrs);
}

Expr plain_conv(const Attrs& given, const Array<Expr>& args, const Array<Type>& types, const relay::GraphEnvironment&) {
  auto* attrs = given.as<Conv2DAttrs>();
  Conv2DAttrs changed(*attrs);
  Layout kernel = make_layout(attrs->kernel_layout), out = make_layout(attrs->data_layout);
  Expr data = padded(args[0], args[2], attrs, &changed), weight = args[1];
  const bool is_plain = number_of(args[3]) == 0.0 && attrs->groups == 1 && kernel->factor_of('O') < 0;
  if (!is_plain)
    return relay::make_call(Op::get(kConv), {without_zero(data, args[2]), centred_weight(args, types, kernel)},
                            Attrs(make(std::move(changed))));
  Array<PrimExpr> over, shape;
  for (size_t i = 0; i < kernel->axes.size(); ++i)
    if (kernel->letter(i) != 'O') over.push_back(PrimExpr(static_cast<int>(i)));
  const PrimExpr outs = tensor_of(types[1])->shape[size_t(kernel->index_of('O'))];
  for (size_t i = 0; i < out->axes.size(); ++i) shape.push_back(out->letter(i) == 'C' ? outs : PrimExpr(1));
  Expr sums = relay::make_call(Op::get(kConv), {data, weight}, Attrs(make(std::move(changed))));
  if (number_of(args[2]) == 0.0) return sums;
  return subtract(sums, multiply(args[2], relay::reshape(sum_of(weight, over, false), shape)));
}

OpRecord contraction_record(const char* name, const char* doc) {
  OpRecord record(name);
  record.doc(doc)
      .input("data", "integers")
      .input("weight", "integers")
      .input("input_zero_point", "which integer of the data stands for 0")
      .input("weight_zero_point", "which integer of the weight stands for 0")
      .input("input_scale", "what a step of the data stands for")
      .input("weight_scale", "what a step of the weight stands for")
      .support_level(11);
  return record;
}

}  // namespace

static void quantized_contraction_records() {
  contraction_record("qnn.conv2d", "Convolution of integers that stand for real numbers; sums are int32.")
      .attrs<Conv2DAttrs>()
      .type("QnnConv2D", contraction_type<kConv>)
      .set(kCanonicalize, canonicalization("qnn.conv2d", plain_conv));
  contraction_record("qnn.conv2d_transpose",
                     "Transposed convolution of integers that stand for real numbers; sums are int32.")
      .attrs<relay::Conv2DTransposeAttrs>()
      .type("QnnConv2DTranspose", contraction_type<kConvTranspose>)
      .set(kQnnLegalize, canonicalization("qnn.conv2d_transpose", plain_conv_transpose));
  contraction_record("qnn.dense", "Linear layer of integers that stand for real numbers; sums are int32.")
      .attrs<relay::DenseAttrs>()
      .type("QDense", contraction_type<kDense>)
      .set(kCanonicalize, canonicalization("qnn.dense", plain_dense));
  contraction_record("qnn.batch_matmul", "Matmuls of integers that stand for real numbers; sums are int32.")
      .attrs<relay::BatchMatmulAttrs>()
      .type("QnnBatchMatmul", contraction_type<kBatchMatmul>)
      .set(kCanonicalize, canonicalization("qnn.batch_matmul", plain_batch_matmul));
}

[[gnu::init_priority(kFamilies)]] static const OpFamily quantized_contraction_family{quantized_contraction_records};

}  // namespace tessera::op

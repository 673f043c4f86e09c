// Operators of one tensor that work element by element.

#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/tensor/concrete_forms.h"
#include "op/tensor/follows.h"
#include "runtime/registry.h"
#include "topi/elementwise.h"

namespace tessera::op {
namespace {

struct UnaryRow {
  const char* name;
  const char* topi;  // the compute of that name
  int support_level;
  TypeRule rule;
  const char* doc;
  void (*more)(OpRecord&) = nullptr;  // what is true of some of them only
};

void stays_wide(OpRecord& op) { op.precision(Precision::Never); }
void is_root(OpRecord& op) { op.precision(Precision::Never).evaluate(evaluate_arithmetic); }
void computes_nothing(OpRecord& op) { op.precision(Precision::Follow).flops(0); }

void is_zeros(OpRecord& op) { op.precision(Precision::Follow).flops(0).fills(0).concrete_form(concrete_zeros); }
void is_ones(OpRecord& op) { op.precision(Precision::Follow).flops(0).fills(1).concrete_form(concrete_ones); }

constexpr const char *kIdentity = "Identity", *kToBool = "IdentityCompRel";

const UnaryRow kUnaryRows[] = {
    {"log", "log", 1, same_as_input, "The natural logarithm.", stays_wide},
    {"log2", "log2", 1, same_as_input, "The logarithm to base 2."},
    {"log10", "log10", 1, same_as_input, "The logarithm to base 10."},
    {"tan", "tan", 1, same_as_input, "The tangent."},
    {"cos", "cos", 1, same_as_input, "The cosine."},
    {"cosh", "cosh", 1, same_as_input, "The hyperbolic cosine."},
    {"sin", "sin", 1, same_as_input, "The sine."},
    {"sinh", "sinh", 1, same_as_input, "The hyperbolic sine."},
    {"acos", "acos", 1, same_as_input, "The inverse cosine."},
    {"acosh", "acosh", 1, same_as_input, "The inverse hyperbolic cosine."},
    {"asin", "asin", 1, same_as_input, "The inverse sine."},
    {"asinh", "asinh", 1, same_as_input, "The inverse hyperbolic sine."},
    {"atan", "atan", 1, same_as_input, "The inverse tangent."},
    {"atanh", "atanh", 1, same_as_input, "The inverse hyperbolic tangent."},
    {"exp", "exp", 1, same_as_input, "The exponential function.",
     [](OpRecord& op) { op.precision(Precision::Never).fast_form("fast_exp"); }},
    {"fast_exp", "fast_exp", 1, same_as_input, "exp, quicker and less exact."},
    {"erf", "erf", 1, same_as_input, "The error function.",
     [](OpRecord& op) { op.precision(Precision::Never).fast_form("fast_erf"); }},
    {"fast_erf", "fast_erf", 1, same_as_input, "erf, quicker and less exact."},
    {"sqrt", "sqrt", 1, same_as_input, "The square root.", is_root},
    {"rsqrt", "rsqrt", 1, same_as_input, "One over the square root.", is_root},
    {"zeros_like", nullptr, 4, same_as_input, "Zeros of the input's shape and type.", is_zeros},
    {"ones_like", nullptr, 4, same_as_input, "Ones of the input's shape and type.", is_ones},
    {"sigmoid", "sigmoid", 1, same_as_input, "1 / (1 + exp(-x)).", follows},
    {"copy", "identity", 3, same_as_input, "The input itself.", computes_nothing},
    {"floor", "floor", 3, same_as_input, "The greatest integer that is not greater.", follows},
    {"ceil", "ceil", 3, same_as_input, "The least integer that is not less.", follows},
    {"trunc", "trunc", 3, same_as_input, "The integer part, towards zero.", follows},
    {"round", "round", 3, same_as_input, "The nearest integer.", follows},
    {"round_to_even", "round_to_even", 10, same_as_input, "The nearest integer, the even one when halfway."},
    {"sign", "sign", 3, same_as_input, "-1, 0 or 1.", follows},
    {"abs", "abs", 3, same_as_input, "The absolute value.", follows},
    {"tanh", "tanh", 1, same_as_input, "The hyperbolic tangent.",
     [](OpRecord& op) { op.precision(Precision::Follow).fast_form("fast_tanh"); }},
    {"fast_tanh", "fast_tanh", 1, same_as_input, "tanh, quicker and less exact."},
    {"negative", "negative", 3, same_as_input, "The number with the other sign.",
     [](OpRecord& op) { op.precision(Precision::Follow).evaluate(evaluate_arithmetic); }},
    {"logical_not", "logical_not", 4, same_as_input, "True where the input is false."},
    {"bitwise_not", "bitwise_not", 4, same_as_input, "Each bit turned."},
    {"hardswish", "hardswish", 10, same_as_input, "x * clip(x + 3, 0, 6) / 6.", follows},
    {"isnan", "isnan", 3, bool_of_input, "True where the input is not a number."},
    {"isfinite", "isfinite", 3, bool_of_input, "True where the input is a finite number."},
    {"isinf", "isinf", 3, bool_of_input, "True where the input is an infinity."},
};

te::Tensor filled_like(const te::Tensor& x, int value) {
  return topi::full(x->shape, x->dtype, make_const(x->dtype, value), "T_full_like");
}

}  // namespace

static void unary_records() {
  for (const UnaryRow& row : kUnaryRows) {
    OpRecord record(row.name);
    record.doc(row.doc).input("data", "the input").support_level(row.support_level).fusion(Fusion::Elementwise);
    record.type(row.rule == bool_of_input ? kToBool : kIdentity, row.rule).stateful(false).layout(layout::elementwise);
    if (row.more) row.more(record);
    if (!row.topi) {
      int value = std::string_view(row.name) == "ones_like";
      record.compute([value](const Attrs&, const Array<te::Tensor>& in, const Type&) {
        return Array<te::Tensor>{filled_like(in[0], value)};
      });
      continue;
    }
    record.compute([name = std::string("topi.") + row.topi](const Attrs&, const Array<te::Tensor>& in, const Type&) {
      return Array<te::Tensor>{get_global(name)(in[0]).to<te::Tensor>()};
    });
  }
}

[[gnu::init_priority(kFamilies)]] static const OpFamily unary_family{unary_records};

}  // namespace tessera::op

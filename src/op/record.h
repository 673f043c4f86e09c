#pragma once
// One record per operator: everything the compiler knows about it, said in one place.
//
//   OpRecord("nn.dense").doc("...").attrs<DenseAttrs>().input("data", "...").type("Dense", dense_type)...
//
// A record fills slots of the operator table (relay/slots.h, relay/layout_rule.h, relay/type/rule.h,
// relay/type/affine_type.h); an operator made in Python fills the same ones, and passes read nothing else. records.h says how
// records are found.

#include "relay/layout_rule.h"
#include "relay/slots.h"
#include "relay/type/affine_type.h"
#include "relay/type/rule.h"

namespace tessera::op {

using relay::Compute;
using relay::Expr;
using relay::Fusion;
using relay::Gradient;
using relay::Moves;
using relay::Precision;
using relay::Reduction;
using relay::ShapeFunc;
using relay::TypeQuery;
using relay::TypeRule;

class OpRecord {
 public:
  explicit OpRecord(std::string_view name);

  OpRecord& doc(const char* text);
  /// The type of the attributes that a call must carry.
  template <class T>
  OpRecord& attrs() {
    op_.edit()->attrs_type_key = String(T::info.key);
    return *this;
  }
  OpRecord& input(const char* name, const char* doc, const char* type = "Tensor");
  /// Any number of inputs; those listed describe the first.
  OpRecord& variadic();
  /// The number of inputs where the list says more or less.
  OpRecord& takes(int count);
  OpRecord& support_level(int level);
  OpRecord& type(const char* name, TypeRule rule);
  OpRecord& fusion(Fusion kind);
  OpRecord& compute(Compute compute);
  OpRecord& gradient(Gradient gradient);
  /// For results whose shape depends on the values of arguments: `needs_value` says of which.
  OpRecord& shape(std::initializer_list<int> needs_value, ShapeFunc shape);
  OpRecord& stateful(bool is_stateful);
  /// It computes nothing; its result has elements of the first argument.
  OpRecord& moves(Moves kind);
  /// What it makes of the elements along axes.
  OpRecord& reduction(Reduction kind);
  /// f(a, b) = f(b, a).
  OpRecord& commutative();
  /// f(x, element) = x.
  OpRecord& neutral(double element);
  /// All elements of the result are this number.
  OpRecord& fills(double value);
  /// Nothing but the order of the elements of its argument decides the result.
  OpRecord& sees_order_only();
  /// How it takes part in mixed precision.
  OpRecord& precision(Precision kind);
  /// What it becomes on integers that stand for floats.
  OpRecord& quantized(relay::QuantizedForm rule);
  /// How its layouts follow those of its inputs.
  OpRecord& layout(relay::LayoutRule rule);
  /// What ConvertLayout, AlterOpLayout and Legalize make of a call.
  OpRecord& convert_layout(relay::ConvertLayout rule);
  OpRecord& alter_layout(relay::AlterLayout rule);
  OpRecord& legalize(relay::Legalize rule);
  /// What PackWeights makes of a call with constant weights.
  OpRecord& pack_weights(relay::PackWeights rule);
  /// Where the channels of a layer lie, which scales of its data and its result go by.
  OpRecord& channels(relay::ChannelsOf rule);
  /// Its weight may be of 16 bits where the target widens it as it is read.
  OpRecord& takes_narrow_weight();
  /// Arithmetic for each element of the first result, where the pattern of fusion does not say it.
  OpRecord& flops(int per_element);
  /// Whether wider floats serve as well, where the pattern of fusion does not say it.
  OpRecord& numeric(bool is_numeric);
  /// f(s * x) = s * f(x) for s > 0.
  OpRecord& keeps_positive_scale();
  /// The operator that computes the same quicker and less exactly.
  OpRecord& fast_form(const char* op);
  /// The call with what constant arguments say as attributes.
  OpRecord& static_form(relay::StaticForm form);
  /// The call with the shape and element type of its result as attributes.
  OpRecord& concrete_form(relay::ConcreteForm form);
  /// The call when a model is run and not trained.
  OpRecord& inference_form(relay::InferenceForm form);
  /// A loop of the compiler for constants: a kernel that runs once is not worth compiling.
  OpRecord& evaluate(relay::Evaluate loop);
  /// What its strategy is called, where that is not the operator's name; "" for one that has none.
  OpRecord& strategy_name(const char* name);
  /// The operator moves or names values and computes nothing.
  OpRecord& noncomputational();
  OpRecord& set(const char* slot, Any value, int level = 10);

 private:
  Op op_;
};

/// Notes the record's own compute, which `topi` in Python calls; see by_record.cc.
void keep_compute(const std::string& name, Compute compute);

}  // namespace tessera::op

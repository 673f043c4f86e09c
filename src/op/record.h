#pragma once
// One record per operator: everything the compiler knows about it, said in one place.
//
//   void dense(OpRecord op) {
//     op.doc("...").attrs<DenseAttrs>().input("data", "...").type(dense_type).fusion(Fusion::OutputElementwise)...
//   }
//
// A record fills slots of the operator table (relay/slots.h, relay/type/rule.h); an operator made in Python fills the
// same ones. `all.cc` lists the records.

#include "relay/slots.h"
#include "relay/type/rule.h"

namespace tessera::op {

using relay::Compute;
using relay::Expr;
using relay::Fusion;
using relay::Gradient;
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
  /// The operator moves or names values and computes nothing.
  OpRecord& noncomputational();
  OpRecord& set(const char* slot, Any value);

 private:
  Op op_;
};

/// Notes the record's own compute, which `topi` in Python calls; see by_record.cc.
void keep_compute(const std::string& name, Compute compute);

}  // namespace tessera::op

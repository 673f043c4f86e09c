// The computes of the records as functions of tensors: what `topi` in Python is made of. They stay what they are when a
// user gives an operator another compute.

#include <unordered_map>

#include "op/record.h"
#include "runtime/registry.h"

namespace tessera::op {
namespace {

std::unordered_map<std::string, Compute>& computes() {
  static auto* all = new std::unordered_map<std::string, Compute>;
  return *all;
}

/// The type of a call whose argument types are all known.
class KnownQuery : public TypeQuery {
 public:
  using TypeQuery::TypeQuery;
  void result(const Type& type) override { found = type; }
  void argument(int, const Type&) override {}
  Type found;
};

Array<te::Tensor> by_record(const String& name, const Attrs& attrs, const Array<te::Tensor>& inputs) {
  Op op = Op::get(name);
  auto it = computes().find(name.str());
  if (it == computes().end()) throw Error(ValueError) << "the operator " << name << " has no compute of its own";
  std::vector<Type> types;
  for (const te::Tensor& input : inputs) types.push_back(TensorType(input->shape, input->dtype));
  KnownQuery query(std::move(types), attrs);
  auto slot = op.slot(relay::kTypeRule).to<Ref<relay::TypeRuleSlot>>();
  try {
    slot->rule(query);
  } catch (Error& error) {
    throw Error(ValueError) << name << ": " << error.message();
  }
  if (!query.found) throw Error(ValueError) << name << ": " << inputs.size() << " tensors do not determine its type";
  return it->second(attrs, inputs, query.found);
}

Globals globals{{"topi.by_record", by_record}};

}  // namespace

void keep_compute(const std::string& name, Compute compute) { computes()[name] = std::move(compute); }

}  // namespace tessera::op

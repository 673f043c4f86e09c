// What Python makes functions of: the computes of the records as functions of tensors, for `topi`, which stay what they are
// when a user gives an operator another compute; and the parameters of an operator, for `relay.op`.

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

/// The inputs of an operator, then its attributes, "required" or "optional".
Array<AttrFieldInfo> parameters(const String& name) {
  Op op = Op::get(name);
  Array<AttrFieldInfo> out;
  for (int i = 0; i < op->num_inputs && i < static_cast<int>(op->arguments.size()); ++i)
    out.push_back(op->arguments[static_cast<size_t>(i)]);
  const TypeInfo* type = op->attrs_type_key.empty() ? nullptr : find_type(op->attrs_type_key.str());
  for (size_t i = 0; type && i < type->fields().size(); ++i) {
    const Field& field = type->fields()[i];
    AttrFieldInfoNode info;
    info.name = String(field.name);
    info.type_info = field.flags & Required ? "required" : "optional";
    out.push_back(make(std::move(info)));
  }
  return out;
}

Globals by_record_globals{{"topi.by_record", by_record}, {"relay.op._Parameters", parameters}};

}  // namespace

void keep_compute(const std::string& name, Compute compute) { computes()[name] = std::move(compute); }

}  // namespace tessera::op

// Variables: what a model was trained to, or what the graph sets before it reads them.

#include "frontend/tensorflow/operation.h"
#include "relay/make.h"

namespace tessera::tensorflow {
namespace {

const std::string& variable(Operation& in, size_t i) {
  const Value& value = in.value(i);
  if (value.resource.empty()) in.unsupported("a resource that is no variable");
  return value.resource;
}

Values var_handle(Operation& in) {
  std::string name = in.text("shared_name", "");
  return {Value::variable(name.empty() ? in.node() : name)};
}
Values read(Operation& in) { return {in.importer().read_variable(in, variable(in, 0))}; }

Values assign(Operation& in) {
  in.importer().assign_variable(in, variable(in, 0), in.value(1));
  return {};
}
Values assign_more(Operation& in, bool adds) {
  const std::string& name = variable(in, 0);
  Expr before = in.importer().read_variable(in, name).tensor;
  in.importer().assign_variable(in, name, adds ? relay::add(before, in[1]) : relay::subtract(before, in[1]));
  return {};
}

/// A variable of the first version is its value.
Values old_variable(Operation& in) { return {in.importer().read_variable(in, in.node())}; }

}  // namespace

Rows variable_rows() {
  return {
      {"AssignAddVariableOp", [](Operation& in) { return assign_more(in, true); }},
      {"AssignSubVariableOp", [](Operation& in) { return assign_more(in, false); }},
      {"AssignVariableOp", assign},
      {"ReadVariableOp", read},
      {"VarHandleOp", var_handle},
      {"Variable", old_variable},
      {"VariableV2", old_variable},
  };
}

}  // namespace tessera::tensorflow

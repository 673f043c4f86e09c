#include "frontend/onnx/apply.h"

#include "frontend/onnx/scope.h"
#include "relay/type/type_of.h"

namespace tessera::onnx {
namespace {

class AppliedOperation : public Operation {
 public:
  AppliedOperation(const NodeContext& in, Importer& importer, const Node& node, Values inputs)
      : Operation(importer, node, INT64_MAX, std::move(inputs)), in_(in) {}
  std::string title() const override { return in_.title(); }

 private:
  const NodeContext& in_;
};

Attribute attribute_of(const Given& given) {
  Attribute out;
  out.name = given.name;
  struct Fill {
    Attribute& out;
    void operator()(int64_t value) const { out.kind = Attribute::Int, out.i = value; }
    void operator()(double value) const { out.kind = Attribute::Float, out.f = static_cast<float>(value); }
    void operator()(const std::string& value) const { out.kind = Attribute::String, out.s = value; }
    void operator()(const std::vector<int64_t>& value) const { out.kind = Attribute::Ints, out.ints = value; }
    void operator()(const std::vector<double>& value) const {
      out.kind = Attribute::Floats, out.floats.assign(value.begin(), value.end());
    }
    void operator()(const std::vector<std::string>& value) const {
      out.kind = Attribute::Strings, out.strings.assign(value.begin(), value.end());
    }
  };
  std::visit(Fill{out}, given.value);
  return out;
}

}  // namespace

std::vector<Expr> apply_all(const NodeContext& in, const char* op, std::vector<Expr> inputs,
                            const std::vector<Given>& attributes, size_t outputs) {
  static const Model no_model;
  static const ImportOptions no_options;
  Node node;
  const std::string title = in.title();
  node.op = op;
  node.name = title;
  node.outputs.assign(outputs, "out");
  for (const Given& given : attributes) node.attributes.push_back(attribute_of(given));
  for (const Expr& input : inputs)
    if (input.defined()) relay::type_of(input);
  Values values(inputs.begin(), inputs.end());
  Converter convert = find_converter(op, "", INT64_MAX);
  ICHECK(convert) << "there is a converter of " << op;
  Importer importer(no_model, no_options);
  importer.outer = &in;
  AppliedOperation operation(in, importer, node, std::move(values));
  std::vector<Expr> out;
  for (const Value& value : convert(operation)) out.push_back(value.tensor);
  return out;
}

Expr apply(const NodeContext& in, const char* op, std::vector<Expr> inputs, const std::vector<Given>& attributes) {
  return apply_all(in, op, std::move(inputs), attributes).at(0);
}

}  // namespace tessera::onnx

// relay.ext.ccompiler: C source for element-wise functions, an example of a generator whose code the user's compiler takes. The option
// `header` of a target "ccompiler" is written in front of everything.

#include <fmt/format.h>

#include <unordered_map>

#include "base/stack.h"
#include "codegen/c/source_module.h"
#include "ir/prim/ops.h"
#include "ir/target/target.h"
#include "relay/expr.h"
#include "runtime/function/element.h"
#include "runtime/registry.h"

namespace tessera::byoc {
namespace {

using relay::Call;
using relay::Expr;

const std::unordered_map<std::string, std::string>& formulas() {
  static const auto* table = new std::unordered_map<std::string, std::string>{
      {"add", "{} + {}"},
      {"subtract", "{} - {}"},
      {"multiply", "{} * {}"},
      {"divide", "{} / {}"},
      {"maximum", "TESSERA_MAX({}, {})"},
      {"minimum", "TESSERA_MIN({}, {})"},
      {"negative", "-{}"},
      {"exp", "exp({})"},
      {"tanh", "tanh({})"},
      {"sqrt", "sqrt({})"},
      {"nn.relu", "TESSERA_MAX({}, 0)"},
  };
  return *table;
}

std::string c_type(DataType dtype) {
  const std::string name = to_text(dtype);
  if (name == "float32") return "float";
  if (name == "float64") return "double";
  if (name == "int8" || name == "int16" || name == "int32" || name == "int64" || name == "uint8") return name + "_t";
  throw Error(TypeError) << "ccompiler writes no code for tensors of " << name;
}

struct Shape {
  std::vector<int64_t> extents;
  DataType dtype;
  explicit Shape(const Expr& expr) {
    TensorType type = relay::tensor_type(expr);
    dtype = type->dtype;
    for (const PrimExpr& extent : type->shape) {
      if (!as_int(extent)) throw Error(ValueError) << "ccompiler needs fixed shapes, not " << to_text(type);
      extents.push_back(*as_int(extent));
    }
  }
  int64_t count() const {
    int64_t out = 1;
    for (int64_t extent : extents) out *= extent;
    return out;
  }
};

/// The index of element i of `out` in a tensor that is broadcast to it.
std::string index_of(const Shape& from, const Shape& out) {
  if (from.extents == out.extents) return "i";
  std::string text;
  int64_t stride = 1, outer = 1;
  for (size_t k = 0; k < out.extents.size(); ++k) {
    const int64_t extent = out.extents[out.extents.size() - 1 - k];
    const int64_t own = k < from.extents.size() ? from.extents[from.extents.size() - 1 - k] : 1;
    if (own > 1) text += fmt::format("{}i / {} % {} * {}", text.empty() ? "" : " + ", outer, extent, stride);
    stride *= own;
    outer *= extent;
  }
  return text.empty() ? "0" : text;
}

class Writer {
 public:
  std::string run(const relay::Function& function, const std::string& symbol) {
    for (const relay::Var& param : function->params) {
      const std::string name = fmt::format("in{}", arguments_);
      open(name, Shape(param));
      names_[param.get()] = name;
    }
    std::vector<Expr> results;
    if (auto* tuple = function->body.as<relay::Tuple>()) results.assign(tuple->fields_.begin(), tuple->fields_.end());
    else results.push_back(function->body);
    std::string copies;
    for (size_t r = 0; r < results.size(); ++r) {
      std::string value = (*this)(results[r]);
      Shape shape(results[r]);
      const std::string out = fmt::format("out{}", r);
      open(out, shape);
      copies += fmt::format("  memcpy({}, {}, {} * sizeof({}));\n", out, value, shape.count(), c_type(shape.dtype));
    }
    return constants_ + "#ifdef __cplusplus\nextern \"C\"\n#endif\n" +
           fmt::format(
               "int32_t {}(TVMValue* args, int* codes, int count, TVMValue* result, int* result_code, void* "
               "resource) {{\n{}{}{}  return 0;\n}}\n",
               symbol, arguments_text_, body_, copies);
  }

 private:
  /// A pointer to the data of the next argument.
  void open(const std::string& name, const Shape& shape) {
    const std::string type = c_type(shape.dtype);
    arguments_text_ += fmt::format(
        "  {0}* {1} = ({0}*)((char*)((DLTensor*)args[{2}].v_handle)->data + "
        "((DLTensor*)args[{2}].v_handle)->byte_offset);\n",
        type, name, arguments_++);
  }

  /// What a composite function gives for these arguments.
  std::string body_of(const relay::FunctionNode* function, const Array<Expr>& args) {
    std::unordered_map<const Object*, std::string> inside;
    for (size_t i = 0; i < args.size(); ++i) inside.emplace(function->params[i].get(), (*this)(args[i]));
    names_.swap(inside);
    std::string out = (*this)(function->body);
    names_.swap(inside);
    return out;
  }

  std::string operator()(const Expr& expr) {
    if (auto it = names_.find(expr.get()); it != names_.end()) return it->second;
    std::string out = on_enough_stack([&] { return visit(expr); });
    return names_[expr.get()] = out;
  }

  std::string visit(const Expr& expr) {
    if (auto* constant = expr.as<relay::Constant>()) return literal(constant->data);
    auto* call = expr.as<Call>();
    if (auto* composite = call ? call->op.as<relay::FunctionNode>() : nullptr) return body_of(composite, call->args);
    auto* op = call ? call->op.as<OpNode>() : nullptr;
    if (!op || !formulas().count(op->name.str()))
      throw Error(NotImplementedError) << "ccompiler writes element-wise operators only, not "
                                       << (op ? op->name.str() : expr->type_key());
    Shape shape(expr);
    std::vector<std::string> operands;
    for (const Expr& arg : call->args)
      operands.push_back(fmt::format("{}[{}]", (*this)(arg), index_of(Shape(arg), shape)));
    const std::string& formula = formulas().at(op->name.str());
    std::string value = operands.size() == 1 ? fmt::format(fmt::runtime(formula), operands[0])
                                             : fmt::format(fmt::runtime(formula), operands[0], operands[1]);
    const std::string name = fmt::format("buf{}", next_++);
    constants_ += fmt::format("static {} {}[{}];\n", c_type(shape.dtype), name, std::max<int64_t>(shape.count(), 1));
    body_ += fmt::format("  for (int64_t i = 0; i < {}; ++i) {}[i] = {};\n", shape.count(), name, value);
    return name;
  }

  std::string literal(const NDArray& data) {
    const std::string name = fmt::format("const{}", next_++);
    NDArray host = data.copy_to(cpu());
    DataType dtype = data.dtype();
    const bool is_float = dtype.code == DataType::kFloat;
    const size_t step = static_cast<size_t>(dtype.bits) / 8;
    std::string values;
    for (int64_t i = 0; i < host.size(); ++i) {
      const char* at = host.data<char>() + static_cast<size_t>(i) * step;
      values += is_float ? fmt::format("{:a}, ", read_float(dtype, at)) : fmt::format("{}, ", read_int(dtype, at));
    }
    constants_ += fmt::format("static const {} {}[] = {{{}}};\n", c_type(dtype), name, values.empty() ? "0" : values);
    return name;
  }

  std::unordered_map<const Object*, std::string> names_;
  std::string arguments_text_, body_, constants_;
  int arguments_ = 0, next_ = 0;
};

Module generate(relay::Function function) {
  const std::string symbol = downcast<String>(function->attrs.get_attr(tessera::attr::kGlobalSymbol)).str();
  Target target = Target::current();
  std::string header;
  if (target && target->kind->name == "ccompiler") header = target.option("header").value_or("");
  if (!header.empty()) header += "\n";
  std::string source = header +
                       "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
                       "#include <tvm/runtime/c_runtime_api.h>\n"
                       "#define TESSERA_MAX(a, b) ((a) > (b) ? (a) : (b))\n"
                       "#define TESSERA_MIN(a, b) ((a) < (b) ? (a) : (b))\n";
  Writer writer;
  source += writer.run(function, symbol);
  return codegen::make_c_source(std::move(source), "c", {String(symbol)}, {});
}

Globals c_source_globals{{"relay.ext.ccompiler", generate}};

}  // namespace
}  // namespace tessera::byoc

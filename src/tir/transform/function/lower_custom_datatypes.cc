// Custom types disappear: their values are unsigned integers of the same size, and what is computed with them is said by the
// functions that were registered for the type (`target.datatype.register_op`).
//
//   a: custom[posit]16 + b      =>      "tvm.datatype.lower.llvm.Add.posit"(a + b), such as call_pure_extern("Posit16Add", a, b)
//
// A function is given the node with its operands lowered already, its own type still the custom one, and gives an expression
// of the integer type. Its name: tvm.datatype.lower.<kind of target>.<Add | Cast.<to> | Call.<operator> | FloatImm | ...>.<type>.

#include "base/custom_type.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/target/target.h"
#include "runtime/registry.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"
#include "tir/transform/simplify/retype.h"

namespace tessera {
namespace {

bool is_custom(DataType dtype) { return dtype.code >= DataType::kCustom; }

DataType words(DataType dtype) { return is_custom(dtype) ? DataType::UInt(dtype.bits, dtype.lanes) : dtype; }

/// A type's name without its bits: "float", "posit".
std::string type_name(DataType dtype) {
  if (is_custom(dtype)) return custom_type_name(dtype.code);
  std::string text = DataType(dtype.code, 32).str();
  return text.substr(0, text.find("32"));
}

class Lowering {
 public:
  explicit Lowering(std::string target) : target_(std::move(target)), retype_(words) {
    Rewriter& on = retype_.rewriter;
    on.on([this](const FloatImm* op) -> PrimExpr {
      return is_custom(op->dtype) ? lowered("FloatImm." + type_name(op->dtype), PrimExpr(op), op->dtype) : PrimExpr(op);
    });
    on.on([this](const Cast* op) -> PrimExpr { return on_cast(op); });
    on.on([this](const Call* op) -> PrimExpr { return on_call(op); });
    on.on([this](const BinaryNode* op) -> PrimExpr { return on_binary(op); });
  }

  PrimFunc operator()(const PrimFunc& function) { return retype_.applies_to(function) ? retype_(function) : function; }

 private:
  PrimExpr lowered(const std::string& what, const PrimExpr& e, DataType result) {
    if (target_.empty())
      throw Error(ValueError) << "LowerCustomDatatypes needs the attribute \"target\"; run BindTarget before it";
    std::string name = "tvm.datatype.lower." + target_ + "." + what;
    PackedFunc lower = find_global(name);
    if (!lower)
      throw Error(NotImplementedError) << "nothing says how " << e << " of type " << result << " is computed: register "
                                       << "\"" << name << "\", see target.datatype.register_op";
    auto out = lower(e).to<PrimExpr>();
    if (out.dtype() != words(result))
      throw Error(TypeError) << name << " gave an expression of type " << out.dtype() << " where " << words(result)
                             << " stands for " << result;
    return out;
  }

  PrimExpr on_cast(const Cast* op) {
    DataType from = op->value.dtype(), to = op->dtype;
    PrimExpr out = retype_.rewriter.children(op);
    if (!is_custom(from) && !is_custom(to)) return out;
    return lowered("Cast." + type_name(to) + "." + type_name(from), out, to);
  }

  PrimExpr on_call(const Call* op) {
    Ref<Call> out = retype_.rewriter.children(op);
    if (!is_custom(op->dtype)) return out;
    if (builtin::is(op, builtin::reinterpret())) return reinterpret(words(op->dtype), out->args[0]);
    auto* called = op->op.as<OpNode>();
    if (!called) return make_call(words(op->dtype), op->op, out->args);
    return lowered("Call." + called->name.str() + "." + type_name(op->dtype), out, op->dtype);
  }

  /// Arithmetic has its operands' type; a comparison of custom values is a bool.
  PrimExpr on_binary(const BinaryNode* op) {
    DataType operands = op->a.dtype();
    Ref<BinaryNode> out = retype_.rewriter.children(op);
    if (!is_custom(operands)) return out;
    std::string_view key = op->type_key();
    return lowered(std::string(key.substr(key.find('.') + 1)) + "." + type_name(operands), out, op->dtype);
  }

  std::string target_;
  Retype retype_;
};

/// The kind of the function's target; "" where it has none.
std::string kind_of_target(const PrimFunc& function) {
  auto* target = function->attrs.get_attr(attr::kTarget).as<TargetNode>();
  return target ? target->kind->name.str() : "";
}

}  // namespace

PrimFunc lower_custom_datatypes(const PrimFunc& function) { return Lowering(kind_of_target(function))(function); }

}  // namespace tessera

#include "driver/vm/dynamic_kernel.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "driver/vm/dynamic_extents.h"
#include "driver/vm/shape_program_builder.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "kernel/workload.h"
#include "relay/slots.h"
#include "relay/type/infer_type.h"
#include "relay/type/rule.h"
#include "te/prim_func.h"
#include "te/schedule.h"

namespace tessera::relay {
namespace {

bool has_dynamic_extents(const Type& type) {
  for (const TensorType& tensor : kernel::tensors_of(type))
    for (const PrimExpr& extent : tensor->shape)
      if (!as_int(extent)) return true;
  return false;
}

/// A variable that a condition says the value of, and the value; empty when it says something else.
std::pair<PrimExpr, PrimExpr> solved(const PrimExpr& condition) {
  auto* equation = condition.as<EQ>();
  if (!equation) return {};
  for (const auto& [var, value] : {std::pair(equation->a, equation->b), std::pair(equation->b, equation->a)})
    if (var.as<tessera::VarNode>() && (as_int(value) || value.as<tessera::VarNode>())) return {var, value};
  return {};
}

/// A primitive function in terms of shape variables, with what must hold between them.
struct Symbolic {
  Function function;
  std::vector<PrimExpr> conditions;
};

Symbolic symbolic(const Function& primitive) {
  std::vector<Type> types;
  for (const Var& param : primitive->params) types.push_back(checked_type(param));
  // A variable that must equal a number or another variable is replaced by it: the kernel is simpler for it. Each round
  // has one variable less.
  for (;;) {
    ExtentAssumptions assumed;
    Function function = downcast<Function>(infer_type(Expr(retyped(primitive, types))));
    std::pair<PrimExpr, PrimExpr> known;
    for (const PrimExpr& condition : assumed.conditions)
      if (known = solved(condition); known.first) break;
    if (!known.first) return {function, assumed.conditions};
    for (Type& type : types)
      type = map_extents(type,
                         [&](const PrimExpr& extent) { return extent.same_as(known.first) ? known.second : extent; });
  }
}

/// "argument 0's extent 1" for each variable, so that a condition can be read.
std::string readable(const PrimExpr& condition, const ExtentSources& sources) {
  return to_text(substitute(condition, [&](const tessera::Var& var) -> PrimExpr {
    auto it = sources.find(var.get());
    if (it == sources.end()) return {};
    return make_var("arg" + std::to_string(it->second.arg) + ".shape[" + std::to_string(it->second.dim) + "]",
                    var->dtype);
  }));
}

const relay::Call* only_call(const Function& function) {
  auto* call = function->body.as<relay::Call>();
  return call && call->op.as<OpNode>() ? call : nullptr;
}

/// Shape programs of all results; false when an extent is not integer arithmetic over those of the arguments.
bool shape_programs(const Function& original, const Symbolic& kernel, const std::string& name,
                    std::vector<vm::ShapeProgram>* out) {
  std::vector<uint32_t> ranks;
  ExtentSources sources;
  std::vector<std::pair<ExtentSource, PrimExpr>> equalities;  // beyond the first use of each variable
  uint32_t arg = 0;
  for (size_t p = 0; p < original->params.size(); ++p) {
    std::vector<TensorType> before = kernel::tensors_of(checked_type(original->params[p]));
    std::vector<TensorType> now = kernel::tensors_of(checked_type(kernel.function->params[p]));
    for (size_t t = 0; t < now.size(); ++t, ++arg) {
      ranks.push_back(static_cast<uint32_t>(now[t].rank()));
      for (uint32_t dim = 0; dim < ranks.back(); ++dim) {
        PrimExpr extent = now[t]->shape[dim];
        bool is_first = !as_int(extent) && sources.emplace(extent.get(), ExtentSource{arg, dim}).second;
        if (!is_first && !as_int(before[t]->shape[dim])) equalities.push_back({{arg, dim}, extent});
      }
    }
  }
  arith::Analyzer analyzer;
  bool is_first_result = true;
  for (const TensorType& result : kernel::tensors_of(checked_type(kernel.function->body))) {
    ShapeProgramBuilder program(name, ranks, sources);
    std::vector<uint32_t> extents;
    for (const PrimExpr& extent : result->shape)
      if (!program.add(analyzer.simplify(extent), &extents.emplace_back())) return false;
    if (is_first_result) {  // the checks are the same for all
      for (const auto& [source, extent] : equalities) {
        uint32_t value = 0;
        program.add(extent, &value);
        std::string text = "arg" + std::to_string(source.arg) + ".shape[" + std::to_string(source.dim) +
                           "] == " + readable(extent, sources);
        program.check(program.binary(vm::ShapeOp::EQ, program.extent(source), value), text);
      }
      for (const PrimExpr& condition : kernel.conditions) {
        uint32_t holds = 0;
        if (!program.add(condition, &holds)) return false;
        program.check(holds, readable(condition, sources));
      }
    }
    is_first_result = false;
    out->push_back(program.take(extents));
  }
  return true;
}

/// The operator's own shape function as a kernel of the host.
void add_shape_kernel(const relay::Call* call, DynamicKernel* out) {
  Op op(call->op.as<OpNode>());
  Any slot = op.slot(kShapeDataDependent);
  Array<PrimExpr> flags = slot.is_null() ? Array<PrimExpr>{PrimExpr(0)} : slot.to<Array<PrimExpr>>();
  Array<te::Tensor> inputs;
  Array<PrimExpr> ranks;
  for (size_t i = 0; i < call->args.size(); ++i) {
    bool by_value = *as_int(flags[flags.size() == 1 ? 0 : i]) != 0;
    for (const TensorType& type : kernel::tensors_of(checked_type(call->args[i]))) {
      Array<PrimExpr> shape = by_value ? type->shape : Array<PrimExpr>{PrimExpr(type.rank())};
      inputs.push_back(
          te::placeholder(shape, by_value ? type->dtype : DataType::Int(64), "p" + std::to_string(inputs.size())));
      out->by_value.push_back(by_value);
    }
  }
  for (const TensorType& type : kernel::tensors_of(checked_type(Expr(call)))) ranks.push_back(PrimExpr(type.rank()));
  auto shapes = op.slot(kShapeFunc).to<PackedFunc>()(call->attrs, inputs, ranks).to<Array<te::Tensor>>();
  if (shapes.size() != ranks.size())
    throw Error(ValueError) << op->name << " gives " << ranks.size() << " results, but its shape function "
                            << shapes.size() << " shapes";
  // A plain TE schedule: it takes every kind of operation, hybrid scripts too, and there is little to compute.
  Array<te::Operation> results;
  Array<ObjectRef> args(inputs.begin(), inputs.end());
  for (const te::Tensor& shape : shapes) {
    results.push_back(shape->op);
    args.push_back(shape);
  }
  out->shape_kernel = te::schedule_to_prim_func(te::create_schedule(results), args, "shape_func");
}

}  // namespace

bool is_dynamic(const Function& primitive) {
  for (const Var& param : primitive->params)
    if (has_dynamic_extents(checked_type(param))) return true;
  return has_dynamic_extents(checked_type(primitive->body));
}

DynamicKernel make_dynamic(const Function& primitive, const std::string& name) {
  DynamicKernel out;
  Symbolic kernel = symbolic(primitive);
  out.function = kernel.function;
  auto* call = only_call(kernel.function);
  bool says_itself = call && Op(call->op.as<OpNode>()).has(kShapeFunc);
  bool has_any = false;
  size_t count = 0;
  Type result = map_extents(checked_type(kernel.function->body), [&](const PrimExpr& extent) {
    if (!is_any(extent)) return extent;
    has_any = true;
    return PrimExpr(make_size_var("m" + std::to_string(count++)));
  });
  if (has_any && !says_itself)
    throw Error(NotImplementedError) << "the virtual machine cannot tell the shape of the result of " << name << ", "
                                     << to_text(checked_type(kernel.function->body))
                                     << ", from those of its arguments, and no operator in it has a shape function";
  if (has_any) {
    add_shape_kernel(call, &out);
    Expr body = make(relay::Call(*call));  // the same call; its extents are those of the tensors it is given
    body->checked_type_ = result;
    out.function = with(kernel.function, &FunctionNode::body, body);
    return out;
  }
  if (!shape_programs(primitive, kernel, name, &out.shapes))
    throw Error(NotImplementedError) << "the shape of the result of " << name << ", "
                                     << to_text(checked_type(kernel.function->body))
                                     << ", is no integer arithmetic over those of its arguments";
  return out;
}

}  // namespace tessera::relay

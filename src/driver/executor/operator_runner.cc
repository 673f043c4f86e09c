#include "driver/executor/operator_runner.h"

#include <string_view>

#include "driver/build_module.h"
#include "ir/structural/equal.h"
#include "kernel/kernel_table.h"
#include "kernel/schedule_blocks.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/strategy.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "runtime/containers.h"
#include "te/create_prim_func.h"
#include "tir/lower.h"

namespace tessera::relay {
namespace {

void flatten(const ObjectRef& value, std::vector<NDArray>* out) {
  if (auto* tensor = value.as<NDArrayNode>()) return out->push_back(NDArray(tensor));
  auto* tuple = value.as<ADTNode>();
  ICHECK(tuple) << "arguments of operators were checked to be tensors";
  for (const ObjectRef& field : tuple->values) flatten(field, out);
}

/// The value of the given type whose tensors come in order from `next`.
ObjectRef assemble(const Type& type, const std::vector<NDArray>& tensors, size_t* next) {
  auto* tuple = type.as<TupleType>();
  if (!tuple) return tensors[(*next)++];
  ADTNode out;
  for (const Type& field : tuple->fields_) out.values.push_back(assemble(field, tensors, next));
  return make(std::move(out));
}

bool is_static(const Type& type) {
  for (const TensorType& tensor : kernel::tensors_of(type))
    for (const PrimExpr& extent : tensor->shape)
      if (!as_int(extent)) return false;
  return true;
}

std::vector<int64_t> shape_of(const TensorType& type) {
  std::vector<int64_t> out;
  for (const PrimExpr& extent : type->shape) out.push_back(*as_int(extent));
  return out;
}

void add_types(const ObjectRef& value, std::string* key) {
  if (auto* tensor = value.as<NDArrayNode>()) {
    *key += NDArray(tensor).dtype().str() + shape_text(NDArray(tensor).shape());
    return;
  }
  auto* tuple = value.as<ADTNode>();
  if (!tuple) return;
  *key += '[';
  for (const ObjectRef& field : tuple->values) add_types(field, key);
  *key += ']';
}

Expr constant_of(const ObjectRef& value) {
  if (auto* tensor = value.as<NDArrayNode>()) return make_constant(NDArray(tensor).copy_to(cpu()));
  Array<Expr> fields;
  for (const ObjectRef& field : value.as<ADTNode>()->values) fields.push_back(constant_of(field));
  return make_tuple(fields);
}

void call_with(const PackedFunc& function, const std::vector<Any>& args) {
  std::vector<TesseraValue> values;
  std::vector<int> codes;
  for (const Any& arg : args) values.push_back(arg.raw()), codes.push_back(arg.code());
  Any nothing;
  function.call_packed({values.data(), codes.data(), static_cast<int>(args.size())}, &nothing);
}

const Call* call_of(const Function& function) { return function->body.as<Call>(); }

Module build_module(const IRModule& programs, const Target& target) {
  return tessera::build(Map<Target, IRModule>{{target, lower_module(programs, false)}}, host_of(target, {}));
}

}  // namespace

Type type_of_value(const ObjectRef& value, const std::string& what) {
  if (auto* tensor = value.as<NDArrayNode>()) {
    Array<PrimExpr> shape;
    for (int64_t extent : NDArray(tensor).shape()) shape.push_back(int_imm(DataType::Int(32), extent));
    return TensorType(shape, NDArray(tensor).dtype());
  }
  auto* tuple = value.as<ADTNode>();
  if (!tuple)
    throw Error(TypeError) << what << " takes tensors, not a "
                           << (value ? value->type_key() : "value that does not exist");
  TupleType out;
  for (const ObjectRef& field : tuple->values) out.fields_.push_back(type_of_value(field, what));
  return make(std::move(out));
}

ObjectRef OperatorRunner::run(const Op& op, const Attrs& attrs, const std::vector<ObjectRef>& args,
                              const ApplyFunction& apply) {
  std::string_view name = op->name;
  bool is_marker = name == ops::on_device || name.starts_with("annotation.");
  if (is_marker && args.size() == 1) return args[0];
  if (name == ops::device_copy && args[0].as<NDArrayNode>()) return downcast<NDArray>(args[0]).copy_to(device_);
  const void* identity[] = {op.get(), attrs.get()};
  std::string key(reinterpret_cast<const char*>(identity), sizeof identity);
  for (const ObjectRef& arg : args) add_types(arg, &key);
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.emplace(key, make_plan(op, attrs, args)).first;
  Plan plan = found->second;
  if (plan.depends_on_values) plans_.erase(found);
  if (plan.expansion) return apply(plan.expansion, args);
  return launch(plan.kernel, args, plan.result);
}

OperatorRunner::Plan OperatorRunner::make_plan(const Op& op, const Attrs& attrs, const std::vector<ObjectRef>& args) {
  Array<Var> params;
  Array<Expr> operands;
  for (const ObjectRef& arg : args) {
    Var param = make_local("p" + std::to_string(params.size()), type_of_value(arg, std::string(op->name)));
    params.push_back(param);
    operands.push_back(param);
  }
  DictAttrs primitive(Map<String, ObjectRef>{{attr::kPrimitive, PrimExpr(1)}});
  Function function = make_function(params, make_call(op, operands, attrs), nullptr, {}, primitive);
  Function typed = downcast<Function>(infer_type(Expr(function)));
  Plan plan{op, attrs, nullptr, nullptr, nullptr};
  Type result = checked_type(typed->body);
  plan.depends_on_values = !is_static(result);
  if ((plan.depends_on_values || !(op.has(kCompute) || op.has(kStrategy))) && expand(typed, args, &plan)) return plan;
  if (plan.depends_on_values) {
    result = result_for(typed, op, attrs, args);
    Expr body = make(Call(*call_of(typed)));  // the same call, its type known exactly
    body->checked_type_ = result;
    typed = with(typed, &FunctionNode::body, body);
  }
  plan.result = result;
  plan.kernel = compile(typed);
  return plan;
}

/// Puts the operator in terms of others; arguments whose values decide its shape become constants.
bool OperatorRunner::expand(const Function& typed, const std::vector<ObjectRef>& args, Plan* plan) {
  FunctionNode open(*typed.get());
  open.attrs = DictAttrs();
  if (plan->depends_on_values) {
    Array<Expr> operands;
    for (size_t i = 0; i < args.size(); ++i) operands.push_back(i == 0 ? Expr(open.params[0]) : constant_of(args[i]));
    Call call(*call_of(typed));
    call.args = operands;
    call.checked_type_ = nullptr;
    open.body = make(std::move(call));
    open.ret_type = nullptr;
    open.checked_type_ = nullptr;
  }
  GlobalVarNode main;
  main.name_hint = "main";
  IRModule mod(Map<GlobalVar, BaseFunc>{{make(std::move(main)), BaseFunc(make(std::move(open)))}});
  mod = pass(simplify_inference)(pass(dynamic_to_static)(mod));
  if (std::string_view(plan->op->name).starts_with("qnn."))
    for (const char* slot : {"FTVMQnnLegalize", "FTVMQnnCanonicalize"}) mod = pass(legalize, slot)(mod);
  Function out = downcast<Function>(mod.lookup("main"));
  if (auto* call = call_of(out); call && call->op.same_as(plan->op)) return false;
  plan->expansion = downcast<Function>(to_a_normal_form(out));
  return true;
}

/// The exact type of a result whose shape the operator's shape function computes from values.
Type OperatorRunner::result_for(const Function& typed, const Op& op, const Attrs& attrs,
                                const std::vector<ObjectRef>& args) {
  std::vector<TensorType> results = kernel::tensors_of(checked_type(typed->body));
  if (!op.has(kShapeFunc))
    throw Error(NotImplementedError) << op->name << ": the shape of the result, " << to_text(checked_type(typed->body))
                                     << ", depends on values, and the operator does not say how";
  Array<PrimExpr> flags = op.slot(kShapeDataDependent).to<Array<PrimExpr>>(), ranks;
  Array<te::Tensor> inputs;
  std::vector<NDArray> values;
  for (size_t i = 0; i < args.size(); ++i) {
    std::vector<NDArray> tensors;
    flatten(args[i], &tensors);
    bool by_value = *as_int(flags[flags.size() == 1 ? 0 : i]) != 0;
    for (const NDArray& tensor : tensors) {
      NDArray value = tensor;
      if (!by_value) {
        std::vector<int64_t> extents(tensor.shape().begin(), tensor.shape().end());
        value = NDArray::empty(std::vector<int64_t>{static_cast<int64_t>(extents.size())}, DataType::Int(64));
        value.copy_from_bytes(extents.data(), extents.size() * sizeof(int64_t));
      }
      values.push_back(value.copy_to(cpu()));
      inputs.push_back(te::placeholder(downcast<TensorType>(type_of_value(value, "shape"))->shape, value.dtype(), "p"));
    }
  }
  for (const TensorType& result : results) ranks.push_back(PrimExpr(result.rank()));
  Array<te::Tensor> shapes = op.slot(kShapeFunc).to<PackedFunc>()(attrs, inputs, ranks).to<Array<te::Tensor>>();
  for (const te::Tensor& shape : shapes) inputs.push_back(shape);
  Target host = host_of(target_, {});
  PrimFunc program = kernel::schedule_blocks(te::create_prim_func(inputs), kernel::CompileEnvironment());
  program = with_attr(program, tessera::attr::kGlobalSymbol, String("shape_func"));
  program = with_attr(program, tessera::attr::kTarget, host);
  GlobalVarNode var;
  var.name_hint = "shape_func";
  IRModule programs(Map<GlobalVar, BaseFunc>{{make(std::move(var)), BaseFunc(program)}});
  Module module = build_module(programs, host);
  std::vector<Any> slots(values.begin(), values.end());
  std::vector<NDArray> extents;
  for (const TensorType& result : results) {
    extents.push_back(NDArray::empty(std::vector<int64_t>{result.rank()}, DataType::Int(64)));
    slots.emplace_back(extents.back());
  }
  call_with(module.get_function("shape_func"), slots);
  std::vector<Type> exact;
  for (size_t i = 0; i < results.size(); ++i) {
    Array<PrimExpr> shape;
    for (int d = 0; d < results[i].rank(); ++d)
      shape.push_back(int_imm(DataType::Int(32), extents[i].data<int64_t>()[d]));
    exact.push_back(valid_type(TensorType(shape, results[i]->dtype)));
  }
  if (!checked_type(typed->body).as<TupleType>()) return exact[0];
  TupleType tuple;
  tuple.fields_ = Array<Type>(exact.begin(), exact.end());
  return make(std::move(tuple));
}

PackedFunc OperatorRunner::compile(const Function& typed) {
  Type result = checked_type(typed->body);
  int64_t hash = structural_hash(typed);
  auto [first, last] = compiled_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (structural_equal(it->second.primitive, typed) && structural_equal(it->second.result, result))
      return it->second.kernel;
  kernel::KernelTable kernels("interpreter",
                              kernel::CompileEnvironment::make(target_, host_of(target_, {}), PassContext::current()));
  std::string name = kernels.add(typed, target_);
  PackedFunc kernel = build_module(kernels.finish().programs[target_], target_).get_function(name);
  ICHECK(kernel) << "no function " << name << " in the module that was built for it";
  compiled_.emplace(hash, Compiled{typed, result, kernel});
  return kernel;
}

ObjectRef OperatorRunner::launch(const PackedFunc& kernel, const std::vector<ObjectRef>& args, const Type& result) {
  std::vector<NDArray> tensors, results;
  for (const ObjectRef& arg : args) flatten(arg, &tensors);
  std::vector<Any> slots;
  for (const NDArray& tensor : tensors)
    slots.emplace_back(same_device(tensor.device(), device_) ? tensor : tensor.copy_to(device_));
  for (const TensorType& type : kernel::tensors_of(result)) {
    results.push_back(NDArray::empty(shape_of(type), type->dtype, device_));
    slots.emplace_back(results.back());
  }
  call_with(kernel, slots);
  size_t next = 0;
  return assemble(result, results, &next);
}

}  // namespace tessera::relay

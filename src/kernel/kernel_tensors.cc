#include "kernel/kernel_tensors.h"

#include <unordered_map>
#include <unordered_set>

#include "base/stack.h"
#include "ir/prim/ops.h"
#include "kernel/implementation.h"
#include "runtime/function/element.h"

namespace tessera::kernel {
namespace {

using relay::Call;
using relay::checked_type;
using relay::Constant;
using relay::Expr;
using relay::OpImplementation;
using relay::tensor_type;
using relay::Tuple;
using relay::TupleGetItem;
using Tensors = Array<te::Tensor>;

PrimExpr scalar_value(const NDArray& data) {
  NDArray host = data.copy_to(cpu());
  DataType dtype = data.dtype();
  const char* at = host.data<char>();
  if (dtype.code == DataType::kFloat || dtype.code == DataType::kBFloat) return float_imm(dtype, read_float(dtype, at));
  return int_imm(dtype, read_int(dtype, at));
}

/// The tensors of each expression of a primitive function.
class KernelBuilder {
 public:
  KernelTensors kernel;

  KernelBuilder(const Workload& workload, const CompileEnvironment& environment, const ComputeCall& compute)
      : workload_(workload), target_(environment.target), compute_(compute) {
    Tensors& inputs = kernel.inputs;
    for (const relay::Var& param : workload.primitive->params) {
      Tensors tensors;
      for (const TensorType& type : tensors_of(checked_type(param)))
        tensors.push_back(
            te::placeholder(type->shape, type->dtype, "p" + std::to_string(inputs.size() + tensors.size())));
      for (const te::Tensor& tensor : tensors) inputs.push_back(tensor);
      done_[param.get()] = tensors;
    }
  }

  Tensors operator()(const Expr& expr) {
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second;
    return done_[expr.get()] = on_enough_stack([&] { return build(expr); });
  }

 private:
  Tensors build(const Expr& expr) {
    if (auto* call = expr.as<Call>()) {
      auto* op = call->op.as<OpNode>();
      if (!op) throw Error(TypeError) << "a kernel can only call operators";
      if (compute_)
        if (Tensors ruled = compute_(call, all(call->args)); !ruled.empty()) return ruled;
      return compute(call, Op(op), all(call->args));
    }
    if (auto* tuple = expr.as<Tuple>()) return all(tuple->fields_);
    if (auto* get = expr.as<TupleGetItem>()) {
      auto [first, last] = tensors_of_field(checked_type(get->tuple).as<TupleType>(), get->index);
      Tensors fields = (*this)(get->tuple);
      return {fields.begin() + static_cast<long>(first), fields.begin() + static_cast<long>(last)};
    }
    if (auto* constant = expr.as<Constant>()) {
      if (!constant->is_scalar() && compute_) {  // the rule has read it; nothing else may
        const TensorType type = tensor_type(expr);
        return {te::placeholder(type->shape, type->dtype, "constant")};
      }
      if (!constant->is_scalar())
        throw Error(NotImplementedError)
            << "a tensor that is constant inside a kernel is not supported; FuseOps leaves them outside";
      PrimExpr value = scalar_value(constant->data);
      return {te::compute({}, [&](const Array<PrimExpr>&) { return value; }, "constant", "constant")};
    }
    throw Error(TypeError) << "a kernel cannot hold a " << expr->type_key();
  }

  Tensors compute(const Call* call, const Op& op, const Tensors& inputs) {
    const Type& type = checked_type(Expr(call));
    OpImplementation chosen = select_implementation(op, call->attrs, inputs, type, target_);
    if (call == workload_.anchor) kernel.implementation = chosen;
    return compute_by(chosen, op, call->attrs, inputs, type, target_);
  }

  Tensors all(const Array<Expr>& exprs) {
    Tensors out;
    for (const Expr& expr : exprs)
      for (const te::Tensor& tensor : (*this)(expr)) out.push_back(tensor);
    return out;
  }

  const Workload& workload_;
  const Target& target_;
  const ComputeCall& compute_;
  std::unordered_map<const Object*, Tensors> done_;
};

te::Tensor copy_of(const te::Tensor& tensor) {
  return te::compute(
      tensor->shape, [&](const Array<PrimExpr>& i) { return te::load(tensor, i); }, "T_identity", "elemwise");
}

}  // namespace

KernelTensors kernel_tensors(const Workload& workload, const CompileEnvironment& environment,
                             const ComputeCall& compute) {
  KernelBuilder build(workload, environment, compute);
  Tensors outputs = build(workload.primitive->body);
  KernelTensors out = build.kernel;
  std::unordered_set<const Object*> taken;
  for (const te::Tensor& input : out.inputs) taken.insert(input->op.get());
  for (const te::Tensor& output : outputs) {
    bool is_again = !taken.insert(output->op.get()).second && te::num_outputs(output->op.get()) == 1;
    out.outputs.push_back(is_again ? copy_of(output) : output);  // of its own for what is an input or given twice
  }
  return out;
}

}  // namespace tessera::kernel

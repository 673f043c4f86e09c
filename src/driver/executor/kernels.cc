#include "driver/executor/kernels.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/stack.h"
#include "ir/prim/ops.h"
#include "ir/span_scope.h"
#include "ir/structural/equal.h"
#include "relay/slots.h"
#include "relay/walk.h"
#include "runtime/function/element.h"
#include "te/create_prim_func.h"
#include "te/prim_func.h"
#include "tir/attrs.h"
#include "topi/cpu/default_rule.h"
#include "topi/gpu/default_rule.h"

namespace tessera::relay {
namespace {

using Tensors = Array<te::Tensor>;

void flatten(const Type& type, std::vector<TensorType>* out) {
  if (type.as<TensorTypeNode>()) return out->push_back(downcast<TensorType>(type));
  auto* tuple = type.as<TupleType>();
  if (!tuple) throw Error(TypeError) << "a kernel cannot take or give a value of type " << to_text(type);
  for (const Type& field : tuple->fields_) flatten(field, out);
}

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

  KernelBuilder(const FunctionNode* function, const Target& target) : target_(target) {
    kernel.rule = kernel_rule(function, target);
    Tensors& inputs = kernel.inputs;
    for (const Var& param : function->params) {
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
      if (kernel.rule.compute)
        if (Tensors ruled = kernel.rule.compute(call, all(call->args)); !ruled.empty()) return ruled;
      return compute(Op(op), call->attrs, all(call->args), checked_type(expr));
    }
    if (auto* tuple = expr.as<Tuple>()) return all(tuple->fields_);
    if (auto* get = expr.as<TupleGetItem>()) {
      auto [first, last] = tensors_of_field(checked_type(get->tuple).as<TupleType>(), get->index);
      Tensors fields = (*this)(get->tuple);
      return {fields.begin() + static_cast<long>(first), fields.begin() + static_cast<long>(last)};
    }
    if (auto* constant = expr.as<Constant>()) {
      if (!constant->is_scalar() && kernel.rule.compute) {  // the rule has read it; nothing else may
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

  Tensors compute(const Op& op, const Attrs& attrs, const Tensors& inputs, const Type& type) {
    OpImplementation chosen = select_implementation(op, attrs, inputs, type, target_);
    if (Fusion fusion = fusion_of(op); !kernel.anchor || fusion >= anchor_fusion_) {
      anchor_fusion_ = fusion;
      kernel.anchor = op;
      kernel.anchor_attrs = attrs;
      kernel.implementation = chosen;
    }
    return compute_by(chosen, op, attrs, inputs, type, target_);
  }

  Tensors all(const Array<Expr>& exprs) {
    Tensors out;
    for (const Expr& expr : exprs)
      for (const te::Tensor& tensor : (*this)(expr)) out.push_back(tensor);
    return out;
  }

  const Target& target_;
  Fusion anchor_fusion_ = Fusion::Elementwise;
  std::unordered_map<const Object*, Tensors> done_;
};

te::Tensor copy_of(const te::Tensor& tensor) {
  return te::compute(
      tensor->shape, [&](const Array<PrimExpr>& i) { return te::load(tensor, i); }, "T_identity", "elemwise");
}

void collect_names(const Expr& expr, std::unordered_set<const Object*>* seen, std::string* out) {
  if (!seen->insert(expr.get()).second) return;
  on_enough_stack([&] {
    if (auto* call = expr.as<Call>()) {
      for (const Expr& arg : call->args) collect_names(arg, seen, out);
      if (auto* op = call->op.as<OpNode>()) *out += "_" + std::string(op->name);
    } else if (auto* tuple = expr.as<Tuple>()) {
      for (const Expr& field : tuple->fields_) collect_names(field, seen, out);
    } else if (auto* get = expr.as<TupleGetItem>()) {
      collect_names(get->tuple, seen, out);
    }
  });
}

}  // namespace

std::vector<TensorType> tensors_of(const Type& type) {
  std::vector<TensorType> out;
  flatten(type, &out);
  return out;
}

std::pair<size_t, size_t> tensors_of_field(const TupleType* tuple, int index) {
  size_t first = 0;
  for (int i = 0; i < index; ++i) first += tensors_of(tuple->fields_[i]).size();
  return {first, first + tensors_of(tuple->fields_[index]).size()};
}

KernelTensors kernel_tensors(const Function& primitive, const Target& target) {
  KernelBuilder build(primitive.get(), target);
  Tensors outputs = build(primitive->body);
  KernelTensors out = build.kernel;
  std::unordered_set<const Object*> taken;
  for (const te::Tensor& input : out.inputs) taken.insert(input->op.get());
  for (const te::Tensor& output : outputs) {
    bool is_again = !taken.insert(output->op.get()).second && te::num_outputs(output->op.get()) == 1;
    out.outputs.push_back(is_again ? copy_of(output) : output);  // of its own for what is an input or given twice
  }
  return out;
}

PrimFunc schedule_kernel(const KernelTensors& tensors, const Target& target, const std::string& name) {
  Array<ObjectRef> params(tensors.inputs.begin(), tensors.inputs.end());
  for (const te::Tensor& output : tensors.outputs) params.push_back(output);
  if (tensors.rule.schedule)
    return te::schedule_to_prim_func(tensors.rule.schedule(tensors.outputs), params, String(name));
  if (tensors.implementation && tensors.implementation->fschedule) {
    te::Schedule schedule =
        schedule_by(tensors.implementation, tensors.anchor, tensors.anchor_attrs, tensors.outputs, target);
    return te::schedule_to_prim_func(schedule, params, String(name));
  }
  Tensors args = tensors.inputs;
  for (const te::Tensor& output : tensors.outputs) args.push_back(output);
  PrimFunc program = te::create_prim_func(args);
  return target.has_key("gpu") ? topi::schedule_default_gpu(program, target)
                               : topi::schedule_default_cpu(program, target);
}

std::string kernel_name(const Function& primitive) {
  constexpr size_t kLongest = 80;
  std::string name = "fused";
  std::unordered_set<const Object*> seen;
  collect_names(primitive->body, &seen, &name);
  if (name.size() > kLongest) {
    auto hash = static_cast<uint64_t>(structural_hash(primitive));
    name = fmt::format("{}_{:016x}_", name.substr(0, kLongest), hash);
  }
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::string source_nodes(const Function& primitive) {
  std::vector<std::string> names;
  post_order(primitive->body, [&](const Expr& expr) { add_node_names(expr->span, &names); });
  return source_lines(names);
}

PrimFunc program_of(const KernelEntry& kernel) {
  PrimFunc program = schedule_kernel(kernel_tensors(kernel.primitive, kernel.target), kernel.target, kernel.name);
  program = with_attr(program, tessera::attr::kGlobalSymbol, String(kernel.name));
  program = with_attr(program, tessera::attr::kTarget, kernel.target);
  return with_attr(program, tessera::attr::kNoAlias, bool_imm(!kernel.overlaps));  // see allow_overlap
}

const std::string& KernelTable::add(const Function& primitive, const Target& target) {
  int64_t hash = structural_hash(primitive);
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const KernelEntry& known = entries_[it->second];
    if (known.target.same_as(target) && structural_equal(known.primitive, primitive)) return known.name;
  }
  KernelEntry entry{primitive, target, names_.fresh(prefix_ + "_" + kernel_name(primitive))};
  if (kept_.is_on()) entry.key = kept_.key_of(primitive, entry.name);
  by_hash_.emplace(hash, entries_.size());
  by_name_.emplace(entry.name, entries_.size());
  std::optional<KeptKernel> kept = entry.key.empty() ? std::nullopt : KeptKernels::find(entry.key, false);
  if (kept) {
    in_place_[entry.name] = kept->in_place;
    entry.unit = std::move(kept->unit);
  }
  entries_.push_back(std::move(entry));
  if (!kept) schedule(entries_.back());
  return entries_.back().name;
}

void KernelTable::schedule(KernelEntry& kernel) {
  kernel.unit.clear();
  GlobalVarNode var;
  var.name_hint = String(kernel.name);
  if (!programs_.count(kernel.target)) programs_.set(kernel.target, IRModule());
  programs_[kernel.target].update(make(std::move(var)), program_of(kernel));
}

const std::vector<InPlace>& KernelTable::in_place(const std::string& name) {
  auto [at, is_new] = in_place_.try_emplace(name);
  if (is_new) at->second = find_in_place(downcast<PrimFunc>(programs_with(name).lookup(name)));
  return at->second;
}

void KernelTable::allow_overlap(const std::string& name) {
  KernelEntry& kernel = entries_[by_name_.at(name)];
  if (std::exchange(kernel.overlaps, true)) return;
  IRModule programs = programs_with(name);
  if (!programs || !programs.find_global_var(name)) return;  // kept: `settle` looks for it
  auto program = downcast<PrimFunc>(programs.lookup(name));
  programs.update(programs.get_global_var(name), with_attr(program, tessera::attr::kNoAlias, bool_imm(false)));
}

void KernelTable::settle() {
  for (KernelEntry& kernel : entries_) {
    IRModule programs = programs_with(kernel.name);
    if (programs && programs.find_global_var(kernel.name)) continue;
    if (kernel.overlaps) {
      std::optional<KeptKernel> kept = KeptKernels::find(kernel.key, true);
      kernel.unit = kept ? std::move(kept->unit) : "";
    }
    if (kernel.unit.empty()) schedule(kernel);
  }
}

}  // namespace tessera::relay

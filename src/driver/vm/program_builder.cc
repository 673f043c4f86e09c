#include "driver/vm/program_builder.h"

#include <algorithm>

#include "driver/tuned_programs.h"
#include "driver/vm/dynamic_extents.h"
#include "driver/vm/dynamic_kernel.h"
#include "driver/vm/registers.h"
#include "ir/structural/equal.h"

namespace tessera::relay {
namespace {

kernel::KernelTable kernels_of(const CompilationConfig& config, const PassContext& passes) {
  auto environment = compile_environment(config->default_primitive_virtual_device->target, config->host_target, passes);
  return {"vm_mod", environment,
          config->optional_homogeneous_target ? kernel::CachedKernels(environment) : kernel::CachedKernels(),
          config->primitive_targets};
}

}  // namespace

ProgramBuilder::ProgramBuilder(IRModule mod, CompilationConfig config, const PassContext& passes)
    : mod_(std::move(mod)), config_(std::move(config)), kernels_(kernels_of(config_, passes)) {
  device_index(config_->default_primitive_virtual_device);
  device_index(config_->host_virtual_device);  // where shapes are computed
  for (const auto& [var, function] : mod_.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || relay->attrs.is_true(attr::kPrimitive)) continue;
    globals_[var.get()] = add_function(std::string(var->name_hint), Function(relay), {}, {});
  }
}

uint32_t ProgramBuilder::function_of(const GlobalVar& var) const {
  auto it = globals_.find(var.get());
  if (it == globals_.end()) throw Error(ValueError) << "there is no function @" << var->name_hint << " in the module";
  return it->second;
}

uint32_t ProgramBuilder::add_function(const std::string& name, const Function& function, std::vector<Var> captured,
                                      KnownFunctions known) {
  auto index = static_cast<uint32_t>(program_.functions.size());
  program_.functions.emplace_back();
  program_.functions.back().name = names_.fresh(name);
  pending_.push_back({index, function, std::move(captured), std::move(known)});
  return index;
}

int32_t ProgramBuilder::tag_of(const ConstructorNode* constructor) const {
  auto* data = mod_->type_definitions.get_or_null(constructor->belong_to).as<TypeDataNode>();
  if (data)
    for (const Constructor& known : data->constructors)
      if (known->name_hint == constructor->name_hint) return known->tag;
  return constructor->tag;
}

uint32_t ProgramBuilder::constructor_function(const ConstructorNode* constructor) {
  auto [it, is_new] = constructors_.emplace(constructor, 0);
  if (!is_new) return it->second;
  it->second = static_cast<uint32_t>(program_.functions.size());
  vm::Draft draft;
  draft.function.name = names_.fresh(std::string(constructor->name_hint));
  std::vector<int64_t> fields;
  for (size_t i = 0; i < constructor->inputs.size(); ++i) {
    draft.function.params.emplace_back().name = "field" + std::to_string(i);
    fields.push_back(draft.fresh());
  }
  int32_t made = draft.fresh();
  draft.emit(vm::Opcode::AllocADT, made, tag_of(constructor), 0, 0, fields);
  draft.emit(vm::Opcode::Ret, -1, made);
  program_.functions.push_back(finish(std::move(draft)));
  return it->second;
}

int32_t ProgramBuilder::constant(const NDArray& data) {
  auto [it, is_new] = constants_.emplace(data.get(), static_cast<int32_t>(program_.constants.size()));
  if (is_new) {
    program_.constant_names.push_back("const_" + std::to_string(program_.constants.size()));
    program_.constants.push_back(data);
  }
  return it->second;
}

int32_t ProgramBuilder::primitive(const std::string& name) {
  auto [it, is_new] = primitives_.emplace(name, static_cast<int32_t>(program_.primitives.size()));
  if (is_new) program_.primitives.push_back(name);
  return it->second;
}

int32_t ProgramBuilder::source(const Function& primitive) {
  std::string nodes = kernel::source_nodes(primitive);
  if (nodes.empty()) return -1;
  auto [it, is_new] = sources_.emplace(nodes, static_cast<int32_t>(program_.sources.size()));
  if (is_new) program_.sources.push_back(nodes);
  return it->second;
}

VirtualDevice ProgramBuilder::device_of(const Expr& expr) const {
  VirtualDevice known = downcast_or_null<VirtualDevice>(expr->virtual_device_);
  return known && known->target ? known : config_->default_primitive_virtual_device;
}

int32_t ProgramBuilder::device_index(const VirtualDevice& device) {
  std::vector<int32_t>& types = program_.device_types;
  auto it = std::find(types.begin(), types.end(), device->device_type_int);
  if (it == types.end()) it = types.insert(it, device->device_type_int);
  return static_cast<int32_t>(it - types.begin());
}

int32_t ProgramBuilder::kernel(const Function& function, const Target& target) {
  return primitive(kernels_.add(function, target));
}

const ProgramBuilder::Dynamic& ProgramBuilder::dynamic_kernel(const Function& primitive_function,
                                                              const Target& target) {
  Function function = with_plain_extents(primitive_function, extents_);
  int64_t hash = structural_hash(function);
  auto [first, last] = dynamic_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second.target.same_as(target) && structural_equal(it->second.primitive, function)) return it->second;
  DynamicKernel made = make_dynamic(function, kernel::kernel_name(function));
  Dynamic out;
  out.primitive = function;
  out.target = target;
  out.kernel = kernel(made.function, target);
  for (vm::ShapeProgram& shape : made.shapes) {
    out.shapes.push_back(static_cast<int32_t>(program_.shapes.size()));
    program_.shapes.push_back(std::move(shape));
  }
  if (made.shape_kernel) {
    out.by_value = made.by_value;
    std::string name = "shape_func_" + program_.primitives[static_cast<size_t>(out.kernel)];
    out.shape_kernel = primitive(name);
    PrimFunc code = with_attr(made.shape_kernel, tessera::attr::kGlobalSymbol, String(name));
    GlobalVarNode var;
    var.name_hint = String(name);
    host_kernels_.update(make(std::move(var)), with_attr(code, tessera::attr::kTarget, config_->host_target));
  }
  return dynamic_.emplace(hash, std::move(out))->second;
}

vm::Program ProgramBuilder::build() {
  while (!pending_.empty()) {
    PendingFunction next = std::move(pending_.front());
    pending_.pop_front();
    std::string name = program_.functions[next.index].name;
    vm::Function code = compile_function(*this, name, next);  // may add functions, and so move the table
    program_.functions[next.index] = std::move(code);
  }
  return std::move(program_);
}

}  // namespace tessera::relay

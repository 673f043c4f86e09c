// Rejects functions for a device that touch device memory from the host.

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/target/target.h"
#include "runtime/registry.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// The accesses of parameters that stand outside any thread launch, as text.
std::vector<std::string> host_accesses(const PrimFunc& function) {
  std::unordered_set<const VarNode*> device_memory;
  for (const auto& [param, buffer] : function->buffer_map) device_memory.insert(buffer->data.get());
  for (const Var& param : function->params)
    if (param->dtype.is_handle()) device_memory.insert(param.get());
  std::vector<std::string> found;
  auto note = [&](const Buffer& buffer, const ObjectRef& where) {
    if (device_memory.count(buffer->data.get())) found.push_back(to_text(where));
  };
  Rewriter visitor;
  visitor.share_results(false);
  visitor.on([](Rewriter& self, const AttrStmt* op) -> Stmt {
    bool on_device = op->attr_key == attr::kThreadExtent || op->attr_key == attr::kDeviceScope;
    return on_device ? Stmt(op) : Stmt(self.children(op));
  });
  visitor.on([&](Rewriter& self, const LetStmt* op) -> Stmt {
    if (auto* var = op->value.as<VarNode>(); var && device_memory.count(var)) device_memory.insert(op->var.get());
    return self.children(op);
  });
  visitor.on([&](Rewriter& self, const BufferLoad* op) -> PrimExpr {
    note(op->buffer, PrimExpr(op));
    return self.children(op);
  });
  visitor.on([&](Rewriter& self, const BufferStore* op) -> Stmt {
    note(op->buffer, Stmt(op));
    return self.children(op);
  });
  visitor(function->body);
  return found;
}

/// True when device code may be generated: the target shares memory with the host, or all accesses are in kernels.
std::vector<std::string> violations(const PrimFunc& function) {
  Target target = downcast_or_null<Target>(function->attrs.get_attr(attr::kTarget));
  if (!target) return {};
  int64_t convention = function->attrs.get_int(attr::kCallingConv, 0);
  if (convention != static_cast<int>(CallingConv::Default)) return {};
  int device = target->kind->default_device_type;
  if (device == kDLCPU || device == 16 /* hexagon */) return {};
  return host_accesses(function);
}

static Globals verify_memory_globals{
    {"tir.analysis.verify_memory", [](PrimFunc function) { return violations(function).empty(); }},
};

}  // namespace

IRModule verify_memory(const IRModule& mod) {
  for (const auto& [var, function] : mod->functions) {
    PrimFunc program = downcast_or_null<PrimFunc>(function);
    if (!program) continue;
    std::vector<std::string> found = violations(program);
    if (found.empty()) continue;
    std::string list;
    for (const std::string& access : found) list += "\n    " + access;
    throw Error(RuntimeError) << "Memory verification failed with the following errors: " << var->name_hint
                              << " accesses device memory directly from the host; did you forget to bind its loops to"
                              << " threads?" << list;
  }
  return mod;
}

}  // namespace tessera

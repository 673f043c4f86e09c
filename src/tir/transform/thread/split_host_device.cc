// Regions that launch threads become kernels of their own, called from the host function.
//
//   main: attr thread_extent(blockIdx.x) = 4: body   =>   main: tvm_call_packed("main_kernel0", B, A, 4)
//                                                         main_kernel0(B, A): attr thread_extent(blockIdx.x) = 4: body
//
// A kernel's parameters are the variables its body needs, in order of first use; the call adds the launch extents.

#include "tir/transform/thread/split_host_device.h"

#include <algorithm>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/map_order.h"
#include "ir/target/target.h"
#include "tir/analysis/var_use.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool begins_device_code(const AttrStmt* op) {
  return op->attr_key == attr::kThreadExtent || op->attr_key == attr::kDeviceScope;
}

class HostDeviceSplitter {
 public:
  HostDeviceSplitter(IRModule out, Target target, std::string name)
      : out_(std::move(out)), target_(std::move(target)), name_(std::move(name)) {}

  Stmt operator()(const Stmt& body) {
    return rewrite(body, [this](Rewriter& self, const AttrStmt* op) -> Stmt {
      return begins_device_code(op) ? split(Stmt(op)) : Stmt(self.children(op));
    });
  }

 private:
  Stmt split(const Stmt& region) {
    VarUse use = with_one_axis_a_tag(find_var_use(region));
    std::string kernel_name = name_ + "_kernel" + std::to_string(count_++);
    DictAttrs attrs;
    attrs =
        attrs.with(attr::kTarget, target_)
            .with(attr::kNoAlias, int_imm(DataType::Int(32), 1))
            .with(attr::kGlobalSymbol, String(kernel_name))
            .with(attr::kDeviceThreadAxis, Array<IterVar>(use.thread_axes))
            .with(attr::kIsGlobalFunc, int_imm(DataType::Int(32), 1))
            .with(attr::kCallingConv, int_imm(DataType::Int(32), static_cast<int>(CallingConv::DeviceKernelLaunch)));
    PrimExpr dynamic = dynamic_shared_bytes(region);
    if (dynamic) attrs = attrs.with(attr::kDeviceUseDynSharedMemory, int_imm(DataType::Int(32), 1));
    GlobalVarNode var;
    var.name_hint = kernel_name;
    out_.update(make(std::move(var)), make_prim_func(use.undefined, region, {}, attrs));

    Array<PrimExpr> args{string_imm(kernel_name)};
    for (const Var& param : use.undefined) args.push_back(param);
    for (const PrimExpr& extent : use.thread_extents) args.push_back(extent);
    if (dynamic) args.push_back(dynamic);
    return evaluate(make_call(DataType::Int(32), builtin::tvm_call_packed(), args));
  }

  /// Stages may have thread axes of their own over the same threads; a launch has each thread once.
  static VarUse with_one_axis_a_tag(VarUse use) {
    std::vector<IterVar> axes;
    std::vector<PrimExpr> extents;
    for (size_t i = 0; i < use.thread_axes.size(); ++i) {
      const String& tag = use.thread_axes[i]->thread_tag;
      auto known = std::find_if(axes.begin(), axes.end(), [&](const IterVar& axis) { return axis->thread_tag == tag; });
      if (known == axes.end()) {
        axes.push_back(use.thread_axes[i]);
        extents.push_back(use.thread_extents[i]);
        continue;
      }
      const PrimExpr& first = extents[static_cast<size_t>(known - axes.begin())];
      const int64_t *a = as_int(first), *b = as_int(use.thread_extents[i]);
      if (a && b && *a != *b)
        throw Error(ValueError) << "one kernel is launched over " << tag << " with " << *a << " and with " << *b
                                << " threads; use the same number everywhere in it";
    }
    use.thread_axes = axes;
    use.thread_extents = extents;
    return use;
  }

  /// How much dynamic shared memory a kernel asks for; empty where it has none.
  static PrimExpr dynamic_shared_bytes(const Stmt& region) {
    PrimExpr out;
    walk(region, [&](const Allocate* op) {
      auto* type = op->buffer_var->type_annotation.as<PointerType>();
      if (!type || type->storage_scope != "shared.dyn") return;
      if (out)
        throw Error(ValueError) << "a kernel has one piece of dynamic shared memory; run "
                                << "MergeDynamicSharedMemoryAllocations first";
      out = op->dtype.bytes() * op->dtype.lanes;
      for (const PrimExpr& extent : op->extents) out = out * extent;
    });
    return out;
  }

  IRModule out_;
  Target target_;
  std::string name_;
  int count_ = 0;
};

/// Host code is for no target yet. The attributes take the order that v0.10 then shows them in.
PrimFunc without_target(const PrimFunc& program) {
  Map<String, ObjectRef> attrs;
  for (const auto& [key, value] : table_order(program->attrs->dict.get())) attrs.set(downcast<String>(key), value);
  attrs.set(attr::kTarget, ObjectRef());
  PrimFuncNode out(*program.get());
  out.attrs = DictAttrs(attrs);
  return make(std::move(out));
}

}  // namespace

IRModule split_host_device(IRModule mod) {
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod->functions) {
    PrimFunc program = downcast_or_null<PrimFunc>(function);
    if (!program || program->attrs.get_int(attr::kCallingConv, 0) == static_cast<int>(CallingConv::DeviceKernelLaunch))
      continue;
    Target target = downcast_or_null<Target>(program->attrs.get_attr(attr::kTarget));
    if (!target) throw Error(ValueError) << "SplitHostDevice: a function has no target attribute; run BindTarget first";
    String name = downcast_or_null<String>(program->attrs.get_attr(attr::kGlobalSymbol));
    if (!name)
      throw Error(ValueError) << "SplitHostDevice: the function " << var->name_hint
                              << " has no global_symbol attribute, the name it is called by; in a script: "
                              << "T.func_attr({\"global_symbol\": \"" << var->name_hint << "\"})";
    Stmt body = HostDeviceSplitter(out, target, name.str())(program->body);
    out.update(var, without_target(with_body(program, body)));
  }
  return out;
}

/// Marks where device code begins, for passes that come before the split.
Stmt decorate_device_scope(const Stmt& body) {
  return make(
      AttrStmt{.node = int_imm(DataType::Int(32), 0), .attr_key = attr::kDeviceScope, .value = 0, .body = body});
}

}  // namespace tessera

// Calls of packed functions get their arguments laid out on the stack, and larger temporaries come from the workspace.
//
//   tvm_call_packed("f", x)   =>   stack_value[0] = x; stack_tcode[0] = code;
//                                  tvm_call_packed_lowered("f", stack_value, stack_tcode, 0, 1)
//   allocate T[n]             =>   let T = TVMBackendAllocWorkspace(...); ...; TVMBackendFreeWorkspace(...)
//
// The stack arrays are made once per function and once per parallel loop, as large as the largest call needs. On
// CPUs an allocation of constant size under 1 kB stays, a "local" one (the registers of a kernel) under 16 kB; parallel
// loops stay for the code generator. What all iterations of a parallel loop allocate, each thread allocates once:
//   for i in parallel(m): allocate T[n]; ...   =>   pragma_parallel_launch_point: allocate T[n]; for i in parallel(m): ...

#include <algorithm>

#include "base/dtypes.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tessera/c_api.h"
#include "tir/attrs.h"
#include "tir/parallel.h"
#include "tir/transform/function/arg_binder.h"
#include "tir/transform/memory/device_memory.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr int64_t kMaxStackBytes = 1024, kMaxLocalBytes = 16384;
constexpr int kWorkspaceAlignment = 64;

/// How much of each stack array is in use at a point, or has been at most.
struct StackSizes {
  int64_t shape = 0, array = 0, args = 0;
};

/// The stack arrays of one function or parallel loop body.
struct StackFrame {
  Var shape = make_var("stack_shape", pointer_type(DataType::Int(64)));
  Var array = make_var("stack_array", DataType::Handle());
  Var value = make_var("stack_value", DataType::Handle());
  Var tcode = make_var("stack_tcode", pointer_type(kInt32));
  StackSizes now, most;
  std::vector<Stmt> prepare;  // what has to run before the statement being rewritten

  void note() {
    most.shape = std::max(most.shape, now.shape);
    most.array = std::max(most.array, now.array);
    most.args = std::max(most.args, now.args);
  }
};

Buffer buffer_over(const Var& data, DataType dtype, int64_t length) {
  BufferNode node;
  node.data = data;
  node.dtype = dtype;
  node.shape = {int_imm(kInt32, length)};
  node.elem_offset = 0;
  node.name = data->name;
  return make(std::move(node));
}

PrimExpr null_handle() {
  return make_call(DataType::Handle(), builtin::reinterpret(), {int_imm(DataType::UInt(64), 0)});
}

class BuiltinLowerer {
 public:
  BuiltinLowerer() {
    rewriter_.share_results(false);
    rewriter_.on([this](const Call* op) -> PrimExpr { return on_call(op); });
    rewriter_.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
    rewriter_.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
    rewriter_.on([this](const For* op) -> Stmt { return on_loop(op); });
    rewriter_.on([this](const LetStmt* op) -> Stmt { return on_let(op); });
    rewriter_.on([this](const BufferStore* op) -> Stmt { return prepared([&] { return rewriter_.children(op); }); });
    rewriter_.on([this](const Evaluate* op) -> Stmt { return prepared([&] { return rewriter_.children(op); }); });
    rewriter_.on([this](const IfThenElse* op) -> Stmt {
      return prepared_head(op->condition, [&](PrimExpr condition) -> Stmt {
        return make(IfThenElse{
            .condition = condition, .then_case = rewriter_(op->then_case), .else_case = rewriter_(op->else_case)});
      });
    });
    rewriter_.on([this](const AssertStmt* op) -> Stmt {
      return prepared_head(op->condition, [&](PrimExpr condition) -> Stmt {
        AssertStmt out(*op);
        out.condition = condition;
        out.body = rewriter_(op->body);
        return make(std::move(out));
      });
    });
  }

  Stmt with_frame(const Stmt& body) {
    StackFrame frame;
    std::swap(frame, frame_);
    Stmt out = rewriter_(body);
    std::swap(frame, frame_);
    auto on_stack = [&](const Var& var, const char* what, int64_t size) {
      if (!size) return;
      PrimExpr value =
          make_call(DataType::Handle(), builtin::tvm_stack_alloca(), {string_imm(what), int_imm(kInt32, size)});
      out = make(LetStmt{.var = var, .value = value, .body = out});
    };
    on_stack(frame.shape, "shape", frame.most.shape);
    on_stack(frame.array, "array", frame.most.array);
    on_stack(frame.value, "arg_value", frame.most.args);
    on_stack(frame.tcode, "arg_tcode", frame.most.args);
    return out;
  }

 private:
  /// Runs `rewrite_it`, then puts what its calls prepare in front of it; stack space is free again afterwards.
  template <class F>
  Stmt prepared(F rewrite_it) {
    std::vector<Stmt> outer = std::exchange(frame_.prepare, {});
    StackSizes before = frame_.now;
    Stmt out = rewrite_it();
    frame_.now = before;
    std::vector<Stmt> parts = std::exchange(frame_.prepare, std::move(outer));
    if (parts.empty()) return out;
    parts.push_back(out);
    return sequence(parts);
  }

  /// The same where only a leading expression is evaluated at that point.
  template <class F>
  Stmt prepared_head(const PrimExpr& head, F build) {
    std::vector<Stmt> outer = std::exchange(frame_.prepare, {});
    StackSizes before = frame_.now;
    PrimExpr changed = rewriter_(head);
    frame_.now = before;
    std::vector<Stmt> parts = std::exchange(frame_.prepare, std::move(outer));
    Stmt out = build(changed);
    if (parts.empty()) return out;
    parts.push_back(out);
    return sequence(parts);
  }

  Stmt on_let(const LetStmt* op) {
    if (Stmt calls = call_device_memory(op, device_type_, device_id_)) return rewriter_(calls);
    return prepared_head(op->value, [&](PrimExpr value) -> Stmt {
      return make(LetStmt{.var = op->var, .value = value, .body = rewriter_(op->body)});
    });
  }

  Stmt on_loop(const For* op) {
    if (op->kind != LoopKind::Parallel) return rewriter_.children(op);
    if (!in_parallel_)
      if (Stmt launch = with_memory_of_threads(op)) return rewriter_(launch);
    For out(*op);
    out.min = rewriter_(op->min);
    out.extent = rewriter_(op->extent);
    const bool was = std::exchange(in_parallel_, true);
    out.body = with_frame(op->body);
    in_parallel_ = was;
    return make(std::move(out));
  }

  /// The loop with the memory of dynamic size that its body begins with allocated around it, in a launch point; empty where there is
  /// none that all iterations could share.
  static Stmt with_memory_of_threads(const For* loop) {
    std::vector<const Allocate*> moved, stay;
    Stmt body = loop->body;
    for (; body.as<Allocate>(); body = body.as<Allocate>()->body) {
      auto* memory = body.as<Allocate>();
      const bool depends = uses_var(memory->extents, loop->loop_var) || !is_one(memory->condition);
      (depends || constant_size(memory) >= 0 ? stay : moved).push_back(memory);
    }
    if (moved.empty()) return nullptr;
    auto around = [](const std::vector<const Allocate*>& all, Stmt inner) {
      for (size_t i = all.size(); i-- > 0;) inner = with(all[i], &Allocate::body, inner);
      return inner;
    };
    Stmt inner = around(moved, with(loop, &For::body, around(stay, body)));
    // 0 tasks: as many as there are threads
    PrimExpr tasks = int_imm(kInt32, 0);
    if (auto* least = loop->annotations.get_or_null(attr::kMinParallelExtent).as<IntImm>())
      tasks = select(loop->extent < make_const(loop->extent.dtype(), least->value), int_imm(kInt32, 1), tasks);
    return make(
        AttrStmt{.node = nullptr, .attr_key = String(attr::kParallelLaunchPoint), .value = tasks, .body = inner});
  }

  Stmt on_attr(const AttrStmt* op) {
    if (op->attr_key == attr::kParallelLaunchPoint) {
      PrimExpr value = rewriter_(op->value);
      const bool was = std::exchange(in_parallel_, true);
      Stmt body = rewriter_(op->body);
      in_parallel_ = was;
      return with(with(op, &AttrStmt::value, value), &AttrStmt::body, body);
    }
    PrimExpr* known = op->attr_key == attr::kDeviceId     ? &device_id_
                      : op->attr_key == attr::kDeviceType ? &device_type_
                                                          : nullptr;
    if (!known) return rewriter_.children(op);
    PrimExpr outer = std::exchange(*known, op->value);
    Stmt body = rewriter_(op->body);
    *known = outer;
    return body;
  }

  static int64_t constant_size(const Allocate* op) {
    int64_t size = 1;
    for (const PrimExpr& extent : op->extents) {
      const int64_t* value = as_int(extent);
      if (!value || __builtin_mul_overflow(size, *value, &size)) return -1;
    }
    return size;
  }

  static std::string scope_of(const Var& memory) {
    auto* pointer = memory->type_annotation.as<PointerType>();
    return !pointer || pointer->storage_scope.empty() ? "global" : pointer->storage_scope.str();
  }

  Stmt on_allocate(const Allocate* op) {
    Ref<Allocate> out = rewriter_.children(op);
    int element_bytes = op->dtype.bytes() * op->dtype.lanes;
    bool on_cpu = device_type_ && is_const_int(device_type_, kDLCPU);
    std::string scope = scope_of(op->buffer_var);
    if (!on_cpu && scope.rfind("global", 0) != 0) return out;  // the device's own memory
    int64_t size = constant_size(op), most = scope == "local" ? kMaxLocalBytes : kMaxStackBytes;
    if (on_cpu && size > 0 && size < most && size * element_bytes < most) return out;
    if (!device_type_ || !device_id_)
      throw Error(ValueError) << "LowerTVMBuiltin: the device that " << op->buffer_var->name
                              << " is allocated on is not known here; run MakePackedAPI first";
    PrimExpr bytes = int_imm(DataType::UInt(64), element_bytes);
    for (const PrimExpr& extent : out->extents) bytes = bytes * cast(DataType::UInt(64), extent);
    PrimExpr id = cast(kInt32, device_id_), type = cast(kInt32, device_type_);
    Stmt fail = evaluate(make_call(kInt32, builtin::tvm_throw_last_error(), {}));
    PrimExpr is_null = make_call(DataType::Bool(), builtin::isnullptr(), {op->buffer_var});
    PrimExpr give_back = make_call(kInt32, builtin::TVMBackendFreeWorkspace(), {type, id, op->buffer_var});
    Stmt body = sequence({
        make(IfThenElse{.condition = is_null, .then_case = fail}),
        out->body,
        make(IfThenElse{.condition = not_equal(give_back, 0), .then_case = fail}),
    });
    PrimExpr take = make_call(op->buffer_var->dtype, builtin::TVMBackendAllocWorkspace(),
                              {type, id, bytes, static_cast<int>(op->dtype.code), static_cast<int>(op->dtype.bits)});
    body = make(LetStmt{.var = op->buffer_var, .value = take, .body = body});
    return make(AttrStmt{.node = op->buffer_var,
                         .attr_key = attr::kStorageAlignment,
                         .value = int_imm(kInt32, kWorkspaceAlignment),
                         .body = body});
  }

  PrimExpr on_call(const Call* op) {
    using namespace builtin;
    if (is(op, tvm_call_packed())) return call_packed(op, tvm_call_packed_lowered(), true);
    if (is(op, tvm_call_cpacked())) return call_packed(op, tvm_call_cpacked_lowered(), false);
    if (is(op, tvm_call_trace_packed())) return call_packed(op, tvm_call_trace_packed_lowered(), true);
    if (is(op, tvm_stack_make_shape())) return make_shape(op);
    if (is(op, tvm_stack_make_array())) return make_array(op);
    if (is(op, tvm_context_id())) return int_imm(kInt32, 0);
    return rewriter_.children(op);
  }

  PrimExpr make_shape(const Call* op) {
    if (op->args.empty()) return null_handle();
    int64_t begin = frame_.now.shape;
    frame_.now.shape += static_cast<int64_t>(op->args.size());
    frame_.note();
    Buffer shape = buffer_over(frame_.shape, DataType::Int(64), frame_.now.shape);
    for (size_t i = 0; i < op->args.size(); ++i)
      frame_.prepare.push_back(make(BufferStore{.buffer = shape,
                                                .value = cast(DataType::Int(64), rewriter_(op->args[i])),
                                                .indices = {int_imm(kInt32, begin + static_cast<int64_t>(i))}}));
    return make_call(DataType::Handle(), address_of(), {make_load(shape, {int_imm(kInt32, begin)})});
  }

  static const Op& address_of() { return builtin::address_of(); }

  /// Arguments: data, shape, strides, number of dimensions, an expression of the element type, element offset.
  PrimExpr make_array(const Call* op) {
    int index = static_cast<int>(frame_.now.array++);
    frame_.note();
    Array<PrimExpr> args = rewriter_(op->args);
    DataType dtype = args[4].dtype();
    auto set = [&](StructField field, const PrimExpr& value) {
      frame_.prepare.push_back(struct_set(frame_.array, index, field, value));
    };
    PrimExpr strides = args[2];
    if (!strides.dtype().is_handle()) strides = null_handle();
    PrimExpr byte_offset = args[5];
    if (!is_zero(byte_offset)) byte_offset = byte_offset * make_const(byte_offset.dtype(), dtype.bytes() * dtype.lanes);
    if (!device_type_ || !device_id_)
      throw Error(ValueError)
          << "LowerTVMBuiltin: the device of a tensor argument is not known; run MakePackedAPI first";
    set(StructField::Data, args[0]);
    set(StructField::Shape, args[1]);
    set(StructField::Strides, strides);
    set(StructField::NDim, args[3]);
    set(StructField::TypeCode, int_imm(DataType::UInt(8), dtype.code));
    set(StructField::TypeBits, int_imm(DataType::UInt(8), dtype.bits));
    set(StructField::TypeLanes, int_imm(DataType::UInt(16), dtype.lanes));
    set(StructField::ByteOffset, cast(DataType::UInt(64), byte_offset));
    set(StructField::DeviceId, cast(kInt32, device_id_));
    set(StructField::DeviceType, cast(kInt32, device_type_));
    return struct_get(DataType::Handle(), frame_.array, index, StructField::ArrayAddress);
  }

  /// `name, args...`; a trailing resource handle of the C form is kept as it is.
  PrimExpr call_packed(const Call* op, const Op& lowered, bool through_registry) {
    size_t count = op->args.size() - (through_registry ? 0 : 1);
    StackSizes before = frame_.now;
    int64_t begin = frame_.now.args;
    frame_.now.args += static_cast<int64_t>(count);  // one more than there are arguments: room for the answer
    frame_.note();
    std::vector<Stmt> sets;
    Buffer tcodes = buffer_over(frame_.tcode, kInt32, frame_.now.args);
    for (size_t i = 1; i < count; ++i) {
      PrimExpr arg = rewriter_(op->args[i]);
      int slot = static_cast<int>(begin + static_cast<int64_t>(i) - 1);
      auto [value, code] = as_slot(arg, is_array(op->args[i]));
      sets.push_back(struct_set(frame_.value, slot, StructField::ValueContent, value));
      sets.push_back(make(BufferStore{.buffer = tcodes, .value = code, .indices = {slot}}));
    }
    for (Stmt& set : sets) frame_.prepare.push_back(std::move(set));
    frame_.now.shape = before.shape;
    frame_.now.array = before.array;
    PrimExpr end = int_imm(kInt32, begin + static_cast<int64_t>(count) - 1);
    Array<PrimExpr> args{op->args[0], frame_.value, frame_.tcode, int_imm(kInt32, begin), end};
    if (!through_registry) args.push_back(rewriter_(op->args.back()));
    if (builtin::is(op, builtin::tvm_call_trace_packed())) args.push_back(rewriter_(op->args.back()));
    return make_call(op->dtype, lowered, args);
  }

  static bool is_array(const PrimExpr& e) { return builtin::is(e, builtin::tvm_stack_make_array()); }

  /// The value as it lies in a slot, and its type code.
  static std::pair<PrimExpr, int> as_slot(const PrimExpr& arg, bool is_tensor) {
    DataType dtype = arg.dtype();
    if (arg.as<StringImm>()) return {arg, kTesseraStr};
    if (is_tensor) return {arg, kTesseraDLTensor};
    if (dtype.is_integral()) return {make_cast_if(DataType::Int(64), arg), kTesseraInt};
    if (dtype.is_floating()) return {make_cast_if(DataType::Float(64), arg), kTesseraFloat};
    return {arg, kTesseraHandle};
  }
  static PrimExpr make_cast_if(DataType dtype, const PrimExpr& e) {
    return e.dtype() == dtype ? e : make_cast(dtype, e);
  }

  Rewriter rewriter_;
  StackFrame frame_;
  PrimExpr device_type_, device_id_;
  bool in_parallel_ = false;
};

}  // namespace

Stmt lower_tvm_builtin(const Stmt& body) { return BuiltinLowerer().with_frame(body); }

}  // namespace tessera

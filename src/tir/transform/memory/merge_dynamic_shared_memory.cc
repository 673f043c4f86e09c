// A kernel has one piece of dynamic shared memory: several allocations become parts of one.
//
//   allocate A[64] float32 (shared.dyn); allocate B[32] float16 (shared.dyn); A[i] = B[j]
//     =>   allocate buf_dyn_shmem[320] uint8 (shared.dyn); buf_dyn_shmem.float32[i] = buf_dyn_shmem.float16[j + 128]
//
// Parts begin at multiples of 16 bytes and do not share memory.

#include <unordered_map>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr int kAlignment = 16;

bool is_dynamic(const VarNode* var) {
  auto* type = var->type_annotation.as<PointerType>();
  return type && type->storage_scope == "shared.dyn";
}

class Merger {
 public:
  /// All dynamic allocations of one kernel; none or one need no merging.
  explicit Merger(const Stmt& kernel) {
    PrimExpr end = 0;
    walk(kernel, [&](const Allocate* op) {
      if (!is_dynamic(op->buffer_var.get()) || offsets_.count(op->buffer_var.get())) return;
      PrimExpr bytes = op->dtype.bytes() * op->dtype.lanes;
      for (const PrimExpr& extent : op->extents) bytes = bytes * cast(DataType::Int(32), extent);
      offsets_[op->buffer_var.get()] = end;
      bool is_aligned = as_int(bytes) && *as_int(bytes) % kAlignment == 0;
      end = end + (is_aligned ? bytes : floordiv(bytes + (kAlignment - 1), kAlignment) * kAlignment);
    });
    size_ = end;
  }
  bool is_needed() const { return offsets_.size() > 1; }

  Stmt operator()(const Stmt& kernel) {
    rewriter_.on([this](Rewriter& self, const Allocate* op) -> Stmt {
      return offsets_.count(op->buffer_var.get()) ? self(op->body) : Stmt(self.children(op));
    });
    rewriter_.on([this](Rewriter& self, const BufferLoad* op) -> PrimExpr {
      if (!offsets_.count(op->buffer->data.get())) return self.children(op);
      return make_load(moved(op->buffer), {shifted(op->buffer, self(op->indices[0]))});
    });
    rewriter_.on([this](Rewriter& self, const BufferStore* op) -> Stmt {
      if (!offsets_.count(op->buffer->data.get())) return self.children(op);
      PrimExpr at = shifted(op->buffer, self(op->indices[0]));
      return make(BufferStore{.buffer = moved(op->buffer), .value = self(op->value), .indices = {at}});
    });
    rewriter_.on([this](Rewriter& self, const Call* op) -> PrimExpr { return on_call(self, op); });
    rewriter_.on([this](const VarNode* var) -> PrimExpr {
      if (!offsets_.count(var)) return PrimExpr(var);
      throw Error(NotImplementedError) << "dynamic shared memory " << var->name
                                       << " is handed to a call that is not known to take an offset beside it";
    });
    Stmt body = rewriter_(kernel);
    return make(Allocate{.buffer_var = merged_,
                         .dtype = DataType::UInt(8),
                         .extents = {size_},
                         .condition = bool_imm(true),
                         .body = body});
  }

 private:
  Buffer moved(const Buffer& buffer) {
    Buffer& out = buffers_[buffer.get()];
    if (!out) out = with(buffer, &BufferNode::data, merged_);
    return out;
  }

  PrimExpr elements(const VarNode* var, DataType dtype) const {
    return floordiv(offsets_.at(var), dtype.bytes() * dtype.lanes);
  }

  PrimExpr shifted(const Buffer& buffer, const PrimExpr& at) const {
    PrimExpr offset = cast(at.dtype().element(), elements(buffer->data.get(), buffer->dtype));
    return at.dtype().lanes == 1 ? at + offset : at + make_broadcast(offset, at.dtype().lanes);
  }

  PrimExpr on_call(Rewriter& self, const Call* op) {
    // Operators that take a pointer and an offset beside it, and where those stand.
    struct Row {
      const Op& op;
      size_t pointer;
    };
    if (builtin::is(op, builtin::tvm_access_ptr())) {
      auto* var = op->args[1].as<VarNode>();
      if (!var || !offsets_.count(var)) return self.children(op);
      PrimExpr offset = self(op->args[2]) + cast(op->args[2].dtype(), elements(var, op->args[0].dtype()));
      return make_call(op->dtype, op->op, {op->args[0], merged_, offset, self(op->args[3]), op->args[4]});
    }
    for (const Row& row : {Row{builtin::ptx_ldmatrix(), 5}, Row{builtin::ptx_cp_async(), 0}}) {
      auto* var = builtin::is(op, row.op) ? op->args[row.pointer].as<VarNode>() : nullptr;
      if (!var || !offsets_.count(var)) continue;
      auto* type = var->type_annotation.as<PointerType>()->element_type.as<PrimType>();
      Array<PrimExpr> args;
      for (size_t i = 0; i < op->args.size(); ++i) {
        if (i == row.pointer) args.push_back(merged_);
        else if (i == row.pointer + 1)  // the merged memory counts in bytes
          args.push_back(self(op->args[i]) * type->dtype.bytes() + cast(op->args[i].dtype(), offsets_.at(var)));
        else args.push_back(self(op->args[i]));
      }
      return make_call(op->dtype, op->op, args);
    }
    return self.children(op);
  }

  Rewriter rewriter_;
  Var merged_ = make_var("buf_dyn_shmem", pointer_type(DataType::UInt(8), "shared.dyn"));
  PrimExpr size_;
  std::unordered_map<const VarNode*, PrimExpr> offsets_;  // in bytes
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

Stmt merge_dynamic_shared_memory(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const AttrStmt* op) -> Stmt {
    if (op->attr_key != attr::kThreadExtent) return self.children(op);
    Merger merger{Stmt(op)};  // the outermost thread: a kernel begins
    return merger.is_needed() ? with(op, &AttrStmt::body, merger(op->body)) : Stmt(op);
  });
}

}  // namespace tessera

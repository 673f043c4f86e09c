// Memory of scope "warp" is spread over the registers of a warp's threads: each holds its share, others get at it by
// shuffles. With w threads (threadIdx.x) and m neighbouring elements a thread:
//
//   allocate B[w*m*n] (warp); B[m*tx + w*m*y + x] = v; use(B[m*z + w*m*y + x])
//     =>   allocate B[m*n] (local); B[m*y + x] = v; use(tvm_warp_shuffle(mask, B[m*y + x], z, w, warp size))

#include <algorithm>

#include "arith/analyzer.h"
#include "base/dtypes.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/target/target.h"
#include "tir/attrs.h"
#include "tir/transform/function/require_target.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool is_warp_memory(const VarNode* var) {
  auto* type = var->type_annotation.as<PointerType>();
  return type && type->storage_scope == "warp";
}

/// Where calls that work on registers have a pointer, with its offset after it.
std::vector<size_t> pointer_arguments(const Call* op) {
  if (builtin::is(op, builtin::ptx_mma())) return {6, 8, 10};
  if (builtin::is(op, builtin::ptx_ldmatrix()) || builtin::is(op, builtin::mma_store())) return {3};
  if (builtin::is(op, builtin::mma_fill())) return {1};
  return {};
}

class WarpLowerer {
 public:
  explicit WarpLowerer(const Target& target)
      : kind_(target->kind->name.str()), warp_size_(target.int_option("thread_warp_size", 1)) {
    rewriter_.share_results(false);
    rewriter_.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
    rewriter_.on([this](const For* op) -> Stmt {
      analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
      return rewriter_.children(op);
    });
    rewriter_.on([this](const Allocate* op) -> Stmt {
      return is_warp_memory(op->buffer_var.get()) ? on_allocate(op) : Stmt(rewriter_.children(op));
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_attr(const AttrStmt* op) {
    auto* axis = op->node.as<IterVarNode>();
    if (axis && op->attr_key == attr::kThreadExtent) note_thread(op, axis);
    return rewriter_.children(op);
  }

  void note_thread(const AttrStmt* op, const IterVarNode* axis) {
    analyzer_.bind(axis->var, make_range(make_zero(op->value.dtype()), op->value), true);
    if (axis->thread_tag != "threadIdx.x") return;
    thread_ = axis->var;
    const int64_t* extent = as_int(op->value);
    width_ = extent ? *extent : 0;
  }

  Stmt on_allocate(const Allocate* op) {
    const Var& memory = op->buffer_var;
    if (kind_ != "cuda" && kind_ != "rocm")
      throw Error(NotImplementedError) << "memory " << memory->name << " of scope warp: target " << kind_
                                       << " has no shuffles between the threads of a warp";
    walk(op->body, [this](const AttrStmt* inner) {  // the memory may be declared outside of the threads that use it
      auto* axis = inner->node.as<IterVarNode>();
      if (axis && inner->attr_key == attr::kThreadExtent) note_thread(inner, axis);
    });
    if (!thread_ || width_ < 1 || width_ > warp_size_ || warp_size_ % width_)
      throw Error(ValueError) << "memory " << memory->name << " of scope warp needs a constant number of threads in "
                              << "threadIdx.x that divides the " << warp_size_ << " of a warp, not " << width_;
    int64_t size = 1;
    for (const PrimExpr& extent : op->extents) {
      const int64_t* value = as_int(extent);
      if (!value) throw Error(ValueError) << "memory " << memory->name << " of scope warp has no constant size";
      size *= *value;
    }
    int64_t share = stride_of(memory, op->body);
    if (size % (width_ * share))
      throw Error(ValueError) << "memory " << memory->name << " of scope warp has " << size << " elements, which "
                              << width_ << " threads cannot share by " << share;
    auto* type = memory->type_annotation.as<PointerType>();
    Var local = make_var(memory->name, pointer_type(runtime_dtype(type->element_type), "local"));
    Stmt body = spread(memory, local, share, op->body);
    return make(Allocate{.buffer_var = local,
                         .dtype = op->dtype,
                         .extents = {int_imm(kInt32, size / width_)},
                         .condition = op->condition,
                         .body = rewriter_(body)});
  }

  /// The coefficient of the thread wherever the memory is written: how many neighbouring elements a thread holds.
  int64_t stride_of(const Var& memory, const Stmt& body) {
    int64_t out = 0;
    auto agree = [&](int64_t stride) {
      if (out && out != stride)
        throw Error(ValueError) << "memory " << memory->name << " of scope warp is written with different strides, "
                                << out << " and " << stride;
      out = stride;
    };
    auto step_of = [&](const PrimExpr& at, int64_t lanes) {
      PrimExpr step = analyzer_.simplify(substitute(at, Map<Var, PrimExpr>{{thread_, thread_ + 1}}) - at);
      const int64_t* value = as_int(step);
      if (!value || *value < 1 || *value % lanes)
        throw Error(ValueError) << "memory " << memory->name << " of scope warp is written at " << at
                                << ", which does not go up by a constant with " << thread_->name;
      return *value;
    };
    walk(
        body,
        [&](const BufferStore* op) {
          if (op->buffer->data.same_as(memory)) agree(step_of(first_of(op->indices[0]), op->indices[0].dtype().lanes));
        },
        [&](const Call* op) {
          bool is_load = builtin::is(op, builtin::ptx_ldmatrix()) && op->args[3].same_as(memory);
          bool is_fill = builtin::is(op, builtin::mma_fill()) && op->args[1].same_as(memory);
          if (is_load) agree(step_of(op->args[4], 1));
          if (const int64_t* count = is_fill ? as_int(op->args[0]) : nullptr) agree(*count);
        });
    if (!out) throw Error(ValueError) << "memory " << memory->name << " of scope warp is never written";
    return out;
  }

  static PrimExpr first_of(const PrimExpr& at) {
    if (auto* ramp = at.as<Ramp>(); ramp && is_one(ramp->stride)) return ramp->base;
    if (at.dtype().lanes != 1)
      throw Error(NotImplementedError) << "memory of scope warp is not supported at a vector index: " << at;
    return at;
  }

  struct WarpIndex {
    PrimExpr local, holder;  // the index in a thread's share, and the thread
  };
  WarpIndex split(const PrimExpr& at, int64_t share) {
    PrimExpr m = make_const(at.dtype(), share), group = make_const(at.dtype(), share * width_);
    PrimExpr inner = floormod(at, m), outer = floordiv(at, group);
    return {analyzer_.simplify(outer * m + inner), analyzer_.simplify(floordiv(floormod(at, group), m))};
  }

  static PrimExpr like(const PrimExpr& given, const PrimExpr& first) {
    int lanes = given.dtype().lanes;
    return lanes == 1 ? first : make_ramp(first, make_const(first.dtype(), 1), lanes);
  }

  Stmt spread(const Var& memory, const Var& local, int64_t share, const Stmt& body) {
    auto moved = [&](const Buffer& buffer) { return with(buffer, &BufferNode::data, local); };
    Rewriter inside(
        [&](Rewriter& self, const BufferStore* op) -> Stmt {
          if (!op->buffer->data.same_as(memory)) return self.children(op);
          WarpIndex index = split(self(first_of(op->indices[0])), share);
          return make(BufferStore{
              .buffer = moved(op->buffer), .value = self(op->value), .indices = {like(op->indices[0], index.local)}});
        },
        [&](Rewriter& self, const BufferLoad* op) -> PrimExpr {
          if (!op->buffer->data.same_as(memory)) return self.children(op);
          WarpIndex index = split(self(first_of(op->indices[0])), share);
          if (uses_var(index.local, thread_))
            throw Error(ValueError) << "memory " << memory->name << " of scope warp is read at " << op->indices[0]
                                    << ": the index inside a thread's share depends on the reading thread";
          PrimExpr value = make_load(moved(op->buffer), {like(op->indices[0], index.local)});
          if (analyzer_.can_prove(equal(index.holder, cast(index.holder.dtype(), thread_)))) return value;
          PrimExpr mask = make_call(DataType::UInt(32), builtin::tvm_warp_activemask(), {});
          return make_call(
              value.dtype(), builtin::tvm_warp_shuffle(),
              {mask, value, cast(kInt32, index.holder), int_imm(kInt32, width_), int_imm(kInt32, warp_size_)});
        },
        [&](Rewriter& self, const Call* op) -> PrimExpr {
          std::vector<size_t> pointers = pointer_arguments(op);
          if (pointers.empty()) return self.children(op);
          Array<PrimExpr> args = op->args;
          for (size_t i = 0; i < args.size(); ++i) {
            bool is_offset = i > 0 && std::find(pointers.begin(), pointers.end(), i - 1) != pointers.end();
            if (op->args[i].same_as(memory)) args.set(i, local);
            else if (is_offset && op->args[i - 1].same_as(memory)) args.set(i, split(self(op->args[i]), share).local);
            else args.set(i, self(op->args[i]));
          }
          return make_call(op->dtype, op->op, args);
        },
        [&](const VarNode* var) -> PrimExpr {
          if (var != memory.get()) return PrimExpr(var);
          throw Error(NotImplementedError) << "memory " << memory->name << " of scope warp is handed to a call";
        });
    inside.share_results(false);
    return inside(body);
  }

  std::string kind_;
  int64_t warp_size_, width_ = 0;
  Var thread_;
  Rewriter rewriter_;
  arith::Analyzer analyzer_;
};

}  // namespace

PrimFunc lower_warp_memory(const PrimFunc& function) {
  Target target = require_target(function, "LowerWarpMemory");
  return with_body(function, WarpLowerer(target)(function->body));
}

}  // namespace tessera

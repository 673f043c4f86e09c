// A reduction across threads becomes shuffles inside a warp where it fits one, shuffles in each of several warps and then of
// their results where it fills them, else a tree over shared memory.
//
//   tvm_thread_allreduce(1, value, cond, result[0], threadIdx.x)   with 32 threads of a CUDA warp   =>
//     red_buf0[0] = value
//     t0[0] = tvm_warp_shuffle_down(mask, red_buf0[0], 16); red_buf0[0] = red_buf0[0] + t0[0]; ... 8, 4, 2, 1
//     red_buf0[0] = tvm_warp_shuffle(mask, red_buf0[0], 0)
//
// Every thread of the group gets the result. Threads that do not reduce form groups of their own.

#include <algorithm>
#include <bit>
#include <map>

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

class AllreduceLowerer {
 public:
  explicit AllreduceLowerer(const Target& target)
      : has_shuffles_(target->kind->name == "cuda" || target->kind->name == "nvptx" || target->kind->name == "rocm"),
        shuffles_64_bits_(target->kind->name == "cuda"),
        warp_size_(static_cast<int>(target.int_option("thread_warp_size", 1))) {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
    on.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      auto it = results_.find(op->buffer->data.get());
      if (it == results_.end()) return rewriter_.children(op);
      return make_load(it->second.buffer, {it->second.index});
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  struct Result {
    Buffer buffer;
    PrimExpr index;
  };

  Stmt on_attr(const AttrStmt* op) {
    if (auto* axis = op->node.as<IterVarNode>(); axis && op->attr_key == attr::kThreadExtent) {
      auto outer = threads_;
      threads_[axis->thread_tag.str()] = {axis->var, op->value};
      Stmt out = rewriter_.children(op);
      threads_ = outer;
      return out;
    }
    if (op->attr_key != attr::kReduceScope) return rewriter_.children(op);
    auto* call = op->body.as<Evaluate>() ? op->body.as<Evaluate>()->value.as<Call>() : nullptr;
    if (!builtin::is(call, builtin::tvm_thread_allreduce())) return rewriter_.children(op);
    return with(op, &AttrStmt::body, reduce(op->node.as<CommReducerNode>(), call));
  }

  /// Memory of results: red_buf<i>, one element for each thread in a register, or all of a block's in shared memory.
  Stmt on_allocate(const Allocate* op) {
    Stmt body = rewriter_(op->body);
    auto it = results_.find(op->buffer_var.get());
    if (it == results_.end()) return with(op, &Allocate::body, body);
    const Buffer& buffer = it->second.buffer;
    return make(Allocate{.buffer_var = buffer->data,
                         .dtype = buffer->dtype,
                         .extents = buffer->shape,
                         .condition = bool_imm(true),
                         .body = body});
  }

  struct Index {
    PrimExpr value = 0;
    int64_t extent = 1;
    bool starts_with_x = false;
  };

  /// The threads `wanted` (or all others) of the block as one number, threadIdx.x running fastest.
  Index flat_index(const std::vector<const VarNode*>& reduced, bool wanted) const {
    Index out;
    for (const char* tag : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
      auto it = threads_.find(tag);
      if (it == threads_.end()) continue;
      bool is_reduced = std::find(reduced.begin(), reduced.end(), it->second.first.get()) != reduced.end();
      if (is_reduced != wanted) continue;
      const int64_t* extent = as_int(it->second.second);
      if (!extent)
        throw Error(ValueError) << "reduction across threads: the extent of " << tag << " is " << it->second.second
                                << "; it has to be a constant";
      if (out.extent == 1) out.starts_with_x = tag == std::string_view("threadIdx.x");
      out.value = out.value + it->second.first * make_const(kInt32, out.extent);
      out.extent *= *extent;
    }
    return out;
  }

  Stmt reduce(const CommReducerNode* combiner, const Call* call) {
    size_t count = static_cast<size_t>(*as_int(call->args[0]));
    std::vector<PrimExpr> values;
    PrimExpr condition = rewriter_(call->args[1 + count]);
    for (size_t i = 0; i < count; ++i) {
      PrimExpr value = rewriter_(call->args[1 + i]);
      if (!is_one(condition)) value = make_select(condition, value, combiner->identity_element[i]);
      values.push_back(value);
    }
    std::vector<const VarNode*> reduced;
    for (size_t i = 2 + 2 * count; i < call->args.size(); ++i)
      if (auto* var = call->args[i].as<VarNode>()) reduced.push_back(var);
    Index inside = flat_index(reduced, true), group = flat_index(reduced, false);
    bool may_shuffle =
        has_shuffles_ && inside.starts_with_x && std::has_single_bit(uint64_t(inside.extent)) && inside.extent > 1;
    for (const PrimExpr& value : values) {
      const DataType dtype = value.dtype();
      may_shuffle = may_shuffle && (dtype.bits == 32 || (dtype.bits == 64 && shuffles_64_bits_)) && dtype.lanes == 1;
    }
    const bool fits_warp =
        may_shuffle && (group.extent == 1 ? inside.extent == warp_size_ : warp_size_ % inside.extent == 0);
    const bool fills_warps =
        may_shuffle && inside.extent > warp_size_ && inside.extent <= int64_t{warp_size_} * warp_size_;

    std::vector<Buffer> buffers;
    for (size_t i = 0; i < count; ++i) {
      int64_t size = fits_warp || fills_warps || inside.extent == 1 ? 1 : inside.extent * group.extent;
      std::string scope = size == 1 ? "local" : "shared";
      buffers.push_back(decl_buffer({int_imm(kInt32, size)}, values[i].dtype(), "red_buf" + std::to_string(i), scope));
      PrimExpr index = size == 1 ? PrimExpr(0) : group.value * make_const(kInt32, inside.extent);
      auto* result = call->args[2 + count + i].as<BufferLoad>();
      results_[result->buffer->data.get()] = {buffers[i], index};
    }
    if (fits_warp) return by_shuffles(combiner, values, buffers, inside, group);
    if (fills_warps) return by_warps(combiner, values, buffers, inside, group);
    return inside.extent == 1 ? stores(buffers, 0, values) : by_tree(combiner, values, buffers, inside, group);
  }

  static Stmt stores(const std::vector<Buffer>& buffers, const PrimExpr& index, const std::vector<PrimExpr>& values) {
    std::vector<Stmt> out;
    for (size_t i = 0; i < buffers.size(); ++i)
      out.push_back(make(BufferStore{.buffer = buffers[i], .value = values[i], .indices = {index}}));
    return sequence(out);
  }

  static Array<PrimExpr> loads(const std::vector<Buffer>& buffers, const PrimExpr& index) {
    Array<PrimExpr> out;
    for (const Buffer& buffer : buffers) out.push_back(make_load(buffer, {index}));
    return out;
  }

  /// buffers[at] = combine(a, b), all components from the old values.
  static Stmt combine(const CommReducerNode* combiner, const std::vector<Buffer>& buffers, const PrimExpr& at,
                      const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
    Array<PrimExpr> results = (*combiner)(a, b);
    if (buffers.size() == 1) return stores(buffers, at, {results[0]});
    std::vector<PrimExpr> names;
    std::vector<Stmt> lets;
    for (const PrimExpr& result : results) {
      Var var = make_var("combined", result.dtype());
      names.push_back(var);
      lets.push_back(make(LetStmt{.var = var, .value = result, .body = make_nop()}));
    }
    Stmt out = stores(buffers, at, names);
    for (size_t i = lets.size(); i-- > 0;) out = with(lets[i].as<LetStmt>(), &LetStmt::body, out);
    return out;
  }

  /// Shuffles of `buffers` over lanes 0 to `extent` - 1 of a group, whose first lane has the result then.
  class Shuffles {
   public:
    Shuffles(const std::vector<Buffer>& buffers, int warp_size)
        : mask_(decl_buffer({1}, DataType::UInt(32), "mask", "local")), buffers_(buffers), warp_size_(warp_size) {
      for (size_t i = 0; i < buffers.size(); ++i)
        others_.push_back(decl_buffer({1}, buffers[i]->dtype, "t" + std::to_string(i), "local"));
      PrimExpr active = make_call(DataType::UInt(32), builtin::tvm_warp_activemask(), {});
      steps.push_back(make(BufferStore{.buffer = mask_, .value = active, .indices = {0}}));
    }

    std::vector<Stmt> steps;

    void fold(const CommReducerNode* combiner, int64_t extent) {
      for (int64_t offset = extent / 2; offset > 0; offset /= 2) {
        for (size_t i = 0; i < buffers_.size(); ++i)
          steps.push_back(store(others_[i], shuffled(builtin::tvm_warp_shuffle_down(), i, int_imm(kInt32, offset))));
        steps.push_back(combine(combiner, buffers_, 0, loads(buffers_, 0), loads(others_, 0)));
      }
    }
    void broadcast_from(const PrimExpr& lane) {
      for (size_t i = 0; i < buffers_.size(); ++i)
        steps.push_back(store(buffers_[i], shuffled(builtin::tvm_warp_shuffle(), i, lane)));
    }
    Stmt finished() const {
      Stmt body = sequence(steps);
      std::vector<Buffer> memory = others_;
      memory.insert(memory.begin(), mask_);
      for (size_t i = memory.size(); i-- > 0;) body = allocated(memory[i], body);
      return body;
    }

   private:
    static Stmt store(const Buffer& buffer, const PrimExpr& value) {
      return make(BufferStore{.buffer = buffer, .value = value, .indices = {0}});
    }
    PrimExpr shuffled(const Op& op, size_t i, const PrimExpr& lane) const {
      return make_call(buffers_[i]->dtype, op,
                       {make_load(mask_, {0}), make_load(buffers_[i], {0}), lane, warp_size_, warp_size_});
    }

    Buffer mask_;
    std::vector<Buffer> others_;
    const std::vector<Buffer>& buffers_;
    int warp_size_;
  };

  static Stmt allocated(const Buffer& buffer, const Stmt& body) {
    return make(Allocate{.buffer_var = buffer->data,
                         .dtype = buffer->dtype,
                         .extents = buffer->shape,
                         .condition = bool_imm(true),
                         .body = body});
  }

  Stmt by_shuffles(const CommReducerNode* combiner, const std::vector<PrimExpr>& values,
                   const std::vector<Buffer>& buffers, const Index& inside, const Index& group) {
    Shuffles shuffles(buffers, warp_size_);
    shuffles.steps.insert(shuffles.steps.begin(), stores(buffers, 0, values));
    shuffles.fold(combiner, inside.extent);
    shuffles.broadcast_from(group.value * make_const(kInt32, inside.extent));
    return shuffles.finished();
  }

  /// Each warp its own; then every warp those of all warps of the group, which pass through shared memory.
  Stmt by_warps(const CommReducerNode* combiner, const std::vector<PrimExpr>& values,
                const std::vector<Buffer>& buffers, const Index& inside, const Index& group) {
    const int64_t warps = inside.extent / warp_size_;
    const PrimExpr lane = floormod(inside.value, make_const(kInt32, warp_size_)),
                   warp = floordiv(inside.value, make_const(kInt32, warp_size_)),
                   first = group.value * make_const(kInt32, warps);
    const Stmt barrier = evaluate(make_call(kInt32, builtin::tvm_storage_sync(), {string_imm("shared")}));
    std::vector<Buffer> shared;
    for (size_t i = 0; i < buffers.size(); ++i)
      shared.push_back(decl_buffer({int_imm(kInt32, warps * group.extent)}, buffers[i]->dtype,
                                   "red_warps" + std::to_string(i), "shared"));
    Shuffles shuffles(buffers, warp_size_);
    shuffles.steps.insert(shuffles.steps.begin(), stores(buffers, 0, values));
    shuffles.fold(combiner, warp_size_);
    std::vector<PrimExpr> own, others;
    for (const PrimExpr& value : loads(buffers, 0)) own.push_back(value);
    for (const PrimExpr& value : loads(shared, first + floormod(lane, make_const(kInt32, warps))))
      others.push_back(value);
    shuffles.steps.push_back(barrier);
    shuffles.steps.push_back(
        make(IfThenElse{.condition = equal(lane, 0), .then_case = stores(shared, first + warp, own)}));
    shuffles.steps.push_back(barrier);
    shuffles.steps.push_back(stores(buffers, 0, others));
    shuffles.fold(combiner, warps);
    shuffles.broadcast_from(0);
    Stmt body = shuffles.finished();
    for (const Buffer& buffer : shared) body = allocated(buffer, body);
    return body;
  }

  Stmt by_tree(const CommReducerNode* combiner, const std::vector<PrimExpr>& values, const std::vector<Buffer>& buffers,
               const Index& inside, const Index& group) {
    Stmt barrier = evaluate(make_call(kInt32, builtin::tvm_storage_sync(), {string_imm("shared")}));
    PrimExpr at = group.value * make_const(kInt32, inside.extent) + inside.value;
    // What an earlier use of the memory still reads must be read before it is written again.
    std::vector<Stmt> steps{barrier, stores(buffers, at, values), barrier};
    for (auto half = static_cast<int64_t>(std::bit_ceil(uint64_t(inside.extent))) / 2; half > 0; half /= 2) {
      PrimExpr distance = make_const(kInt32, half);
      PrimExpr has_partner = inside.value < distance;
      if (2 * half > inside.extent)
        has_partner = logical_and(has_partner, inside.value + distance < make_const(kInt32, inside.extent));
      Stmt fold = combine(combiner, buffers, at, loads(buffers, at), loads(buffers, at + distance));
      steps.push_back(make(IfThenElse{.condition = has_partner, .then_case = fold}));
      steps.push_back(barrier);
    }
    return sequence(steps);
  }

  bool has_shuffles_, shuffles_64_bits_;
  int warp_size_;
  Rewriter rewriter_;
  std::map<std::string, std::pair<Var, PrimExpr>> threads_;
  std::unordered_map<const VarNode*, Result> results_;
};

}  // namespace

PrimFunc lower_thread_allreduce(const PrimFunc& function) {
  Target target = require_target(function, "LowerThreadAllreduce");
  return with_body(function, AllreduceLowerer(target)(function->body));
}

}  // namespace tessera

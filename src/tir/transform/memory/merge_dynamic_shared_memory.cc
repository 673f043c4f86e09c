// A kernel has one piece of dynamic shared memory: several allocations become parts of one.
//
//   allocate A[64] float32 (shared.dyn); allocate B[32] float16 (shared.dyn); A[i] = B[j]
//     =>   allocate buf_dyn_shmem[320] uint8 (shared.dyn); buf_dyn_shmem.float32[i] = buf_dyn_shmem.float16[j + 128]
//
// Parts begin at multiples of 16 bytes. Two of them share bytes where all that the kernel does with one comes before all it
// does with the other; a barrier stands in between, because other threads may be behind.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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

bool is_barrier(const Stmt& stmt) {
  auto* evaluate = stmt.as<Evaluate>();
  auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  if (!builtin::is(call, builtin::tvm_storage_sync())) return false;
  auto* scope = call->args[0].as<StringImm>();
  return scope && std::string_view(scope->value).starts_with("shared");
}

/// The body of a statement that all threads pass on their way to the statements inside; empty for others.
Stmt body_of(const Stmt& stmt) {
  if (auto* attr = stmt.as<AttrStmt>()) return attr->body;
  if (auto* allocate = stmt.as<Allocate>()) return allocate->body;
  if (auto* decl = stmt.as<DeclBuffer>()) return decl->body;
  if (auto* let = stmt.as<LetStmt>()) return let->body;
  return nullptr;
}

/// Which bytes each allocation of dynamic shared memory has.
class Plan {
 public:
  explicit Plan(const Stmt& kernel) {
    list(kernel);
    walk(kernel, [&](const Allocate* op) {
      if (is_dynamic(op->buffer_var.get())) allocations_.try_emplace(op->buffer_var.get(), op);
    });
    for (size_t i = 0; i < steps_.size(); ++i) note_uses(steps_[i], static_cast<int>(i));
    std::vector<const VarNode*> order;
    walk(kernel, [&](const Allocate* op) {
      if (allocations_.count(op->buffer_var.get())) order.push_back(op->buffer_var.get());
    });
    std::stable_sort(order.begin(), order.end(),
                     [&](const VarNode* a, const VarNode* b) { return lives_[a].first < lives_[b].first; });
    for (const VarNode* var : order) assign(var);
    PrimExpr end = 0;
    for (Slot& slot : slots_) {
      slot.begin = end;
      end = end + slot.size;
    }
    size = end;
    for (const auto& [var, at] : slot_of_) offsets[var] = slots_[at].begin;
  }

  std::unordered_map<const VarNode*, PrimExpr> offsets;  // in bytes
  PrimExpr size;
  std::unordered_set<const Object*> sync_before;  // statements whose memory was another's until then

 private:
  struct Life {
    int first = 0, last = -1;
  };
  struct Slot {
    PrimExpr begin, size;
    int free_at;  // the last step that uses it
  };

  /// The statements that all threads execute one after another.
  void list(const Stmt& stmt) {
    if (Stmt body = body_of(stmt)) {
      if (auto* let = stmt.as<LetStmt>()) {
        steps_.push_back(evaluate(let->value));
        values_.insert(steps_.back().get());
      }
      list(body);
    } else if (auto* seq = stmt.as<SeqStmt>()) {
      for (const Stmt& part : seq->seq) list(part);
    } else {
      steps_.push_back(stmt);
    }
  }

  void note_uses(const Stmt& step, int at) {
    auto use = [&](const VarNode* var) {
      if (!allocations_.count(var)) return;
      Life& life = lives_.try_emplace(var, Life{at, at}).first->second;
      life.last = at;
    };
    walk(
        step, [&](const VarNode* var) { use(var); }, [&](const BufferLoad* op) { use(op->buffer->data.get()); },
        [&](const BufferStore* op) { use(op->buffer->data.get()); });
  }

  void assign(const VarNode* var) {
    const Allocate* op = allocations_.at(var);
    PrimExpr bytes = op->dtype.bytes() * op->dtype.lanes;
    for (const PrimExpr& extent : op->extents) bytes = bytes * cast(DataType::Int(32), extent);
    bool is_aligned = as_int(bytes) && *as_int(bytes) % kAlignment == 0;
    if (!is_aligned) bytes = floordiv(bytes + (kAlignment - 1), kAlignment) * kAlignment;
    const Life life = lives_[var];
    Slot* found = as_int(bytes) ? find(life, *as_int(bytes)) : nullptr;
    if (!found) {
      slots_.push_back({nullptr, bytes, life.last});
      slot_of_[var] = slots_.size() - 1;
      return;
    }
    if (!has_barrier(found->free_at, life.first)) sync_before.insert(steps_[static_cast<size_t>(life.first)].get());
    if (*as_int(bytes) > *as_int(found->size)) found->size = bytes;
    found->free_at = life.last;
    slot_of_[var] = static_cast<size_t>(found - slots_.data());
  }

  /// Bytes that are free when `life` begins: the smallest slot that is large enough, else the largest.
  Slot* find(const Life& life, int64_t bytes) {
    Slot* best = nullptr;
    bool is_used = life.last >= 0;
    // a barrier cannot stand before the value of a let
    if (!is_used || values_.count(steps_[static_cast<size_t>(life.first)].get())) return nullptr;
    for (Slot& slot : slots_) {
      if (!as_int(slot.size) || slot.free_at >= life.first) continue;
      int64_t now = best ? *as_int(best->size) : 0, here = *as_int(slot.size);
      bool is_better = here >= bytes ? now < bytes || here < now : here > now;
      if (!best || is_better) best = &slot;
    }
    return best;
  }

  bool has_barrier(int after, int before) const {
    for (int i = after + 1; i < before; ++i)
      if (is_barrier(steps_[static_cast<size_t>(i)])) return true;
    return false;
  }

  std::vector<Stmt> steps_;
  std::unordered_set<const Object*> values_;  // steps that are values of lets
  std::unordered_map<const VarNode*, const Allocate*> allocations_;
  std::unordered_map<const VarNode*, Life> lives_;
  std::vector<Slot> slots_;
  std::unordered_map<const VarNode*, size_t> slot_of_;
};

class Merger {
 public:
  /// All dynamic allocations of one kernel; none or one need no merging.
  explicit Merger(const Stmt& kernel) : plan_(kernel), offsets_(plan_.offsets), size_(plan_.size) {}
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
    Stmt body = with_barriers(kernel);
    return make(Allocate{.buffer_var = merged_,
                         .dtype = DataType::UInt(8),
                         .extents = {size_},
                         .condition = bool_imm(true),
                         .body = body});
  }

 private:
  Stmt with_barriers(const Stmt& stmt) {
    if (auto* seq = stmt.as<SeqStmt>()) {
      std::vector<Stmt> parts;
      for (const Stmt& part : seq->seq) parts.push_back(with_barriers(part));
      return sequence(parts);
    }
    if (auto* allocate = stmt.as<Allocate>()) {
      if (offsets_.count(allocate->buffer_var.get())) return with_barriers(allocate->body);
      return with(Ref<Allocate>(allocate), &Allocate::body, with_barriers(allocate->body));
    }
    if (auto* attr = stmt.as<AttrStmt>()) {
      AttrStmt out(*attr);
      out.value = rewriter_(attr->value);
      out.body = with_barriers(attr->body);
      return make(std::move(out));
    }
    if (auto* let = stmt.as<LetStmt>())
      return make(LetStmt{.var = let->var, .value = rewriter_(let->value), .body = with_barriers(let->body)});
    if (auto* decl = stmt.as<DeclBuffer>())
      return with(Ref<DeclBuffer>(decl), &DeclBuffer::body, with_barriers(decl->body));
    Stmt out = rewriter_(stmt);
    if (!plan_.sync_before.count(stmt.get())) return out;
    return sequence(
        {evaluate(make_call(DataType::Int(32), builtin::tvm_storage_sync(), {string_imm("shared.dyn")})), out});
  }

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
  Plan plan_;
  const std::unordered_map<const VarNode*, PrimExpr>& offsets_;  // in bytes
  PrimExpr size_;
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

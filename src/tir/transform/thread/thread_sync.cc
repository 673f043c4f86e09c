// Barriers between a thread's write of shared memory and another's read of it, and the other way round.
//
//   S[t] = A[t]; B[t] = S[t + 1]     =>     S[t] = A[t]; tvm_storage_sync("shared"); B[t] = S[t + 1]
//
// A barrier stands in front of the statement of a sequence that meets what came before, a loop as a whole; where the end
// of an iteration meets the beginning of the next, it stands in front of the first statement that does. It may not stand
// where only some threads come by: a conflict inside such a condition is resolved in front of it or is an error.

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

struct Access {
  const VarNode* memory;
  Array<PrimExpr> indices;    // empty: anywhere
  bool is_next_half = false;  // a write of the half of a double buffer that this iteration does not read
};

struct Accesses {
  std::vector<Access> reads, writes;
  void add(const Accesses& other) {
    reads.insert(reads.end(), other.reads.begin(), other.reads.end());
    writes.insert(writes.end(), other.writes.begin(), other.writes.end());
  }
};

/// What a statement does to shared memory: before its first barrier, and after its last. Without a barrier both are all.
struct Summary {
  Accesses head, tail;
  bool has_barrier = false;
};

class SyncPlanner {
 public:
  explicit SyncPlanner(std::string scope) : scope_(std::move(scope)) {}

  Stmt operator()(const Stmt& body) {
    Summary ignored;
    return plan(body, &ignored);
  }

 private:
  bool is_shared(const VarNode* memory) const {
    auto* type = memory->type_annotation.as<PointerType>();
    return type && type->storage_scope == scope_;
  }

  Accesses of(const ObjectRef& node) const {
    Accesses out;
    walk(
        node,
        [&](const BufferLoad* op) {
          if (is_shared(op->buffer->data.get())) out.reads.push_back({op->buffer->data.get(), op->indices});
        },
        [&](const BufferStore* op) {
          if (is_shared(op->buffer->data.get())) out.writes.push_back({op->buffer->data.get(), op->indices});
        },
        [&](const Call* op) {  // an address taken is of any element from there on
          auto* load = builtin::is(op, builtin::address_of()) ? op->args[0].as<BufferLoad>() : nullptr;
          if (!load || !is_shared(load->buffer->data.get())) return;
          out.reads.push_back({load->buffer->data.get(), {}});
          out.writes.push_back({load->buffer->data.get(), {}});
        },
        [&](const VarNode* var) {  // an address handed to a call
          if (!var->dtype.is_handle() || !is_shared(var)) return;
          out.reads.push_back({var, {}});
          out.writes.push_back({var, {}});
        });
    return out;
  }

  /// True when an index names every thread of the block: what lies there belongs to one of them.
  bool is_of_one_thread(const Array<PrimExpr>& indices) const {
    for (const VarNode* thread : threads_) {
      bool occurs = false;
      for (const PrimExpr& index : indices)
        occurs = occurs || uses_var(index, [&](const VarNode* var) { return var == thread; });
      if (!occurs) return false;
    }
    return true;
  }

  /// Two accesses are apart when they are of one thread to one element: the very same index. Between iterations the index
  /// must be the same in all of them too.
  bool meet(const std::vector<Access>& a, const std::vector<Access>& b, bool across_iterations) const {
    for (const Access& x : a) {
      for (const Access& y : b) {
        if (x.memory != y.memory || (!across_iterations && (x.is_next_half || y.is_next_half))) continue;
        bool same = !x.indices.empty() && x.indices.size() == y.indices.size() && is_of_one_thread(x.indices);
        for (size_t i = 0; same && i < x.indices.size(); ++i)
          same = deep_equal(x.indices[i], y.indices[i]) && !(across_iterations && varies(x.indices[i]));
        if (!same) return true;
      }
    }
    return false;
  }

  bool varies(const PrimExpr& index) const {
    return uses_var(index, [&](const VarNode* var) { return inner_vars_.count(var) > 0; });
  }

  bool conflicts(const Accesses& before, const Accesses& now, bool across_iterations = false) const {
    return meet(before.writes, now.reads, across_iterations) || meet(before.reads, now.writes, across_iterations);
  }

  Stmt barrier() const {
    return evaluate(make_call(DataType::Int(32), builtin::tvm_storage_sync(), {string_imm(scope_)}));
  }

  bool is_barrier(const Stmt& stmt) const {
    auto* op = stmt.as<Evaluate>();
    auto* call = op ? op->value.as<Call>() : nullptr;
    if (!builtin::is(call, builtin::tvm_storage_sync())) return false;
    auto* scope = call->args[0].as<StringImm>();
    return scope && scope->value == scope_;
  }

  void need_all_threads() const {
    if (depth_of_conditions_)
      throw Error(RuntimeError) << "cannot put a barrier inside a condition: not every thread would come by; move the "
                                << "accesses of " << scope_ << " memory out of it";
  }

  /// True when all threads of a block agree on the condition.
  bool is_uniform(const PrimExpr& condition) const {
    bool uniform = side_effect(condition) <= CallEffect::Pure;
    walk(condition, [&](const VarNode* var) { uniform = uniform && !thread_vars_.count(var); });
    return uniform;
  }

  /// `stmt` with barriers inside where they are needed; says in `out` what it does.
  Stmt plan(const Stmt& stmt, Summary* out) {
    if (auto* seq = stmt.as<SeqStmt>()) return sequence_of({seq->seq.begin(), seq->seq.end()}, out);
    if (auto* op = stmt.as<AttrStmt>()) {
      if (op->attr_key == attr::kDoubleBufferWrite) return double_buffer(op, out);
      if (op->attr_key == attr::kOwnBarriers) return out->has_barrier = true, stmt;
      auto* axis = op->node.as<IterVarNode>();
      bool is_thread = axis && op->attr_key == attr::kThreadExtent && axis->thread_tag.str().starts_with("threadIdx");
      if (is_thread && thread_vars_.insert(axis->var.get()).second && !is_one(op->value))
        threads_.push_back(axis->var.get());
      return with(op, &AttrStmt::body, plan(op->body, out));
    }
    if (auto* op = stmt.as<Allocate>()) return with(op, &Allocate::body, plan(op->body, out));
    if (auto* op = stmt.as<LetStmt>()) return after(op->value, op, &LetStmt::body, out);
    if (auto* op = stmt.as<AssertStmt>()) return after(op->condition, op, &AssertStmt::body, out);
    if (auto* op = stmt.as<For>()) {
      inner_vars_.insert(op->loop_var.get());
      return loop(op, &For::body, out);
    }
    if (auto* op = stmt.as<While>()) return loop(op, &While::body, out);
    if (auto* op = stmt.as<IfThenElse>()) return condition(op, out);
    if (is_barrier(stmt)) {
      out->has_barrier = true;
      return stmt;
    }
    out->head = out->tail = of(stmt);
    return stmt;
  }

  /// A scope whose first expression reads before its body runs.
  template <class T>
  Stmt after(const PrimExpr& first, const T* op, Stmt T::* member, Summary* out) {
    Stmt body = plan(op->*member, out);
    Accesses reads = of(first);
    out->head.add(reads);
    if (!out->has_barrier) out->tail.add(reads);
    return with(op, member, body);
  }

  Stmt sequence_of(const std::vector<Stmt>& parts, Summary* out) {
    std::vector<Stmt> planned;
    for (const Stmt& part : parts) {
      Summary now;
      Stmt done = plan(part, &now);
      if (conflicts(out->tail, now.head)) {
        need_all_threads();
        done = behind_barrier(done);
        out->has_barrier = true;
        out->tail = {};
      }
      append(out, now);
      planned.push_back(done);
    }
    return sequence(planned);
  }

  /// A barrier and then `stmt`; where that begins threads, inside them.
  Stmt behind_barrier(const Stmt& stmt) const {
    auto* op = stmt.as<AttrStmt>();
    if (op && op->attr_key == attr::kThreadExtent) return with(op, &AttrStmt::body, behind_barrier(op->body));
    return sequence({barrier(), stmt});
  }

  static void append(Summary* out, const Summary& now) {
    if (!out->has_barrier) out->head.add(now.head);
    if (now.has_barrier) out->tail = now.tail;
    else out->tail.add(now.tail);
    out->has_barrier = out->has_barrier || now.has_barrier;
  }

  Stmt double_buffer(const AttrStmt* op, Summary* out) {
    Accesses now = of(op->body);
    for (Access& write : now.writes) write.is_next_half = true;
    out->head = out->tail = now;
    return Stmt(op);
  }

  template <class T>
  Stmt loop(const T* op, Stmt T::* member, Summary* out) {
    Stmt body = plan(op->*member, out);
    if (conflicts(out->tail, out->head, true)) {
      need_all_threads();
      body = with_barrier_at_meeting(body, out->tail);
      *out = {};
      Stmt same = plan(body, out);  // what it does now; nothing more is needed inside
      ICHECK(!conflicts(out->tail, out->head, true)) << "a barrier orders what iterations share";
      body = same;
    }
    for (Accesses* part : {&out->head, &out->tail})  // behind the loop its last half is read
      for (Access& write : part->writes) write.is_next_half = false;
    return with(op, member, body);
  }

  /// A barrier in front of the first part of the body that meets what the iteration before left.
  Stmt with_barrier_at_meeting(const Stmt& body, const Accesses& left) {
    if (auto* seq = body.as<SeqStmt>()) {
      std::vector<Stmt> parts(seq->seq.begin(), seq->seq.end());
      for (size_t i = 0; i < parts.size(); ++i) {
        Summary now;
        plan(parts[i], &now);
        if (!conflicts(left, now.head, true)) continue;
        parts.insert(parts.begin() + static_cast<ptrdiff_t>(i), barrier());
        return sequence(parts);
      }
    }
    if (auto* op = body.as<AttrStmt>())
      if (op->attr_key != attr::kDoubleBufferWrite)
        return with(op, &AttrStmt::body, with_barrier_at_meeting(op->body, left));
    if (auto* op = body.as<Allocate>()) return with(op, &Allocate::body, with_barrier_at_meeting(op->body, left));
    return sequence({barrier(), body});
  }

  Stmt condition(const IfThenElse* op, Summary* out) {
    int divergent = is_uniform(op->condition) ? 0 : 1;
    depth_of_conditions_ += divergent;
    IfThenElse made(*op);
    Summary then_part, else_part;
    made.then_case = plan(op->then_case, &then_part);
    if (op->else_case) made.else_case = plan(op->else_case, &else_part);
    depth_of_conditions_ -= divergent;
    out->head = of(op->condition);
    out->head.add(then_part.head);
    out->head.add(else_part.head);
    out->tail = then_part.tail;
    out->tail.add(else_part.tail);
    out->has_barrier = then_part.has_barrier && else_part.has_barrier;  // else some way has none
    if (!out->has_barrier) out->tail.add(out->head);
    return make(std::move(made));
  }

  std::string scope_;
  std::unordered_set<const VarNode*> thread_vars_;
  std::vector<const VarNode*> threads_;            // those of more than one
  std::unordered_set<const VarNode*> inner_vars_;  // of loops
  int depth_of_conditions_ = 0;                    // those on which threads may differ
};

}  // namespace

Stmt thread_sync(const Stmt& body, const String& scope) {
  if (scope == "global")
    throw Error(NotImplementedError) << "ThreadSync: barriers between all blocks of a launch are not supported yet";
  return SyncPlanner(scope.str())(body);
}

}  // namespace tessera

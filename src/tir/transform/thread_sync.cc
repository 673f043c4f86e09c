// Barriers between a thread's write of shared memory and another's read of it, and the other way round.
//
//   S[t] = A[t]; B[t] = S[t + 1]     =>     S[t] = A[t]; tvm_storage_sync("shared"); B[t] = S[t + 1]
//
// Statements are followed in order, loop bodies twice, so that the end of an iteration is seen before its next
// beginning. A barrier may not stand where only some threads come by: a conflict inside a condition is an error.

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

struct Access {
  const VarNode* memory;
  Array<PrimExpr> indices;  // empty: anywhere
};

struct Accesses {
  std::vector<Access> reads, writes;
  void add(const Accesses& other) {
    reads.insert(reads.end(), other.reads.begin(), other.reads.end());
    writes.insert(writes.end(), other.writes.begin(), other.writes.end());
  }
};

class SyncPlanner {
 public:
  explicit SyncPlanner(std::string scope) : scope_(std::move(scope)) {}

  Stmt operator()(const Stmt& body) { return plan(body, &pending_); }

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
        [&](const VarNode* var) {  // an address handed to a call
          if (!var->dtype.is_handle() || !is_shared(var)) return;
          out.reads.push_back({var, {}});
          out.writes.push_back({var, {}});
        });
    return out;
  }

  /// Two accesses are apart when they are of one thread to one element: the very same index.
  static bool meet(const std::vector<Access>& a, const std::vector<Access>& b, bool across_iterations) {
    for (const Access& x : a) {
      for (const Access& y : b) {
        if (x.memory != y.memory) continue;
        bool same = !across_iterations && !x.indices.empty() && x.indices.size() == y.indices.size();
        for (size_t i = 0; same && i < x.indices.size(); ++i) same = deep_equal(x.indices[i], y.indices[i]);
        if (!same) return true;
      }
    }
    return false;
  }

  static bool conflicts(const Accesses& before, const Accesses& now, bool across_iterations) {
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

  Stmt leaf(const Stmt& stmt, Accesses* pending) {
    if (is_barrier(stmt)) {
      *pending = {};
      return stmt;
    }
    Accesses now = of(stmt);
    bool needs = conflicts(*pending, now, second_time_);
    if (needs) *pending = {};
    pending->add(now);
    if (!needs) return stmt;
    if (depth_of_conditions_)
      throw Error(RuntimeError) << "cannot put a barrier inside a condition: not every thread would come by; move the "
                                << "accesses of " << scope_ << " memory out of it";
    return sequence({barrier(), stmt});
  }

  /// True when all threads of a block agree on the condition.
  bool is_uniform(const PrimExpr& condition) const {
    bool uniform = side_effect(condition) <= CallEffect::Pure;
    walk(condition, [&](const VarNode* var) { uniform = uniform && !thread_vars_.count(var); });
    return uniform;
  }

  Stmt plan(const Stmt& stmt, Accesses* pending) {
    if (auto* seq = stmt.as<SeqStmt>()) {
      std::vector<Stmt> parts;
      for (const Stmt& part : seq->seq) parts.push_back(plan(part, pending));
      return sequence(parts);
    }
    if (auto* op = stmt.as<AttrStmt>()) {
      if (op->attr_key == attr::kDoubleBufferWrite) return leaf_without_sync(op, pending);
      auto* axis = op->node.as<IterVarNode>();
      if (axis && op->attr_key == attr::kThreadExtent && axis->thread_tag.str().rfind("threadIdx", 0) == 0)
        thread_vars_.insert(axis->var.get());
      return with(op, &AttrStmt::body, plan(op->body, pending));
    }
    if (auto* op = stmt.as<Allocate>()) return with(op, &Allocate::body, plan(op->body, pending));
    if (auto* op = stmt.as<LetStmt>()) return with(op, &LetStmt::body, plan(op->body, pending));
    if (auto* op = stmt.as<AssertStmt>()) return with(op, &AssertStmt::body, plan(op->body, pending));
    if (auto* op = stmt.as<For>()) return loop(op, &For::body, pending);
    if (auto* op = stmt.as<While>()) return loop(op, &While::body, pending);
    if (auto* op = stmt.as<IfThenElse>()) return condition(op, pending);
    return leaf(stmt, pending);
  }

  /// The half being filled is not the half being read.
  Stmt leaf_without_sync(const AttrStmt* op, Accesses* pending) {
    Accesses now = of(op->body);
    pending->writes.insert(pending->writes.end(), now.writes.begin(), now.writes.end());
    return Stmt(op);
  }

  template <class T>
  Stmt loop(const T* op, Stmt T::* member, Accesses* pending) {
    Stmt once = plan(op->*member, pending);
    bool outer = std::exchange(second_time_, true);
    Stmt again = plan(once, pending);  // with what the iteration before left
    second_time_ = outer;
    return with(op, member, again);
  }

  Stmt condition(const IfThenElse* op, Accesses* pending) {
    Accesses head = of(op->condition);
    if (conflicts(*pending, head, second_time_)) {
      *pending = {};
      pending->add(head);
      return sequence({barrier(), branches(op, pending)});
    }
    // A conflict with what came before is settled in front of the condition, where every thread comes by.
    Accesses inside = of(op->then_case);
    if (op->else_case) inside.add(of(op->else_case));
    if (!depth_of_conditions_ && conflicts(*pending, inside, second_time_)) {
      *pending = {};
      return sequence({barrier(), branches(op, pending)});
    }
    return branches(op, pending);
  }

  Stmt branches(const IfThenElse* op, Accesses* pending) {
    int divergent = is_uniform(op->condition) ? 0 : 1;
    depth_of_conditions_ += divergent;
    IfThenElse out(*op);
    Accesses then_pending = *pending, else_pending = *pending;
    out.then_case = plan(op->then_case, &then_pending);
    if (op->else_case) out.else_case = plan(op->else_case, &else_pending);
    depth_of_conditions_ -= divergent;
    *pending = then_pending;
    if (op->else_case) pending->add(else_pending);
    return make(std::move(out));
  }

  std::string scope_;
  Accesses pending_;
  std::unordered_set<const VarNode*> thread_vars_;
  int depth_of_conditions_ = 0;  // those on which threads may differ
  bool second_time_ = false;
};

Pass thread_sync(String scope) {
  return body_pass("tir.ThreadSync", [scope](const Stmt& body) {
    if (scope == "global")
      throw Error(NotImplementedError) << "ThreadSync: barriers between all blocks of a launch are not supported yet";
    return SyncPlanner(scope.str())(body);
  });
}

static Globals globals{{"tir.transform.ThreadSync", thread_sync}};

}  // namespace
}  // namespace tessera

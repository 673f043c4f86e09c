// Work for a coprocessor (in a "coproc_scope", whose value is one of its queues) runs on its own, in order within a queue.
// Where pieces of work touch the same memory and one of them writes it, they are told to wait:
//
//   queue after queue     attr coproc_scope 1: S;  attr coproc_scope 2: T    =>    S; dep_push(1, 2);  dep_pop(1, 2); T
//   from one iteration    for i: { S in queue 1; T in queue 2 }              =>    dep_push(2, 1); for i: { dep_pop(2, 1); S; ...;
//   to the next                                                                    T; dep_push(2, 1) }; dep_pop(2, 1)
//   host after it          attr coproc_scope 1: S;  T                         =>    S; sync(); write_barrier(what S wrote); T
//   it after host          T;  attr coproc_scope 1: S                         =>    T; read_barrier(what S reads); S
//
// The operators are those of the coprocessor, "tir.<name>.coproc_sync" and so on, where <name> is its IterVar's. A barrier
// names the memory, the bits of an element, the first one and how many. At its end the program waits for all queues.

#include <optional>

#include "arith/analyzer.h"
#include "base/stack.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/loops/interval.h"
#include "tir/transform/passes.h"
#include "tir/transform/thread/coproc_uses.h"

namespace tessera {
namespace {

bool is_piece(const Object* node) {
  auto* attr = cast_or_null<AttrStmt>(node);
  return attr && attr->attr_key == attr::kCoprocScope;
}

class Planner {
 public:
  /// Empty where there is no coprocessor.
  Stmt operator()(const Stmt& body) {
    pre_order(body, [&](const Object* node) {
      if (!is_piece(node)) return true;
      note_piece(static_cast<const AttrStmt*>(node));
      return false;
    });
    if (name_.empty()) return body;
    Uses uses;
    Stmt out = plan(body, &uses);
    return uses.pending.empty() ? out : sequence({out, call("coproc_sync", {})});
  }

 private:
  void note_piece(const AttrStmt* piece) {
    auto* axis = piece->node.as<IterVarNode>();
    if (!axis || !as_int(piece->value))
      throw Error(ValueError) << "a coproc_scope stands on an IterVar and has the number of a queue, not "
                              << piece->value;
    if (!name_.empty() && name_ != axis->var->name.str())
      throw Error(ValueError) << "one program gives work to two coprocessors, " << name_ << " and " << axis->var->name;
    name_ = axis->var->name.str();
    Access access = access_of(piece->body);
    unite(&touched_, access.reads);
    unite(&touched_, access.writes);
  }

  Stmt call(const char* what, const Array<PrimExpr>& args) const {
    return evaluate(make_call(DataType::Int(32), "tir." + name_ + "." + what, args));
  }
  Stmt pass_token(const char* what, const Token& token) const {
    return call(what, {int_imm(DataType::Int(32), token.first), int_imm(DataType::Int(32), token.second)});
  }

  /// The statement with its own parts in step; what it uses is added to `uses`.
  Stmt plan(const Stmt& stmt, Uses* uses) {
    return on_enough_stack([&] { return plan_parts(stmt, uses); });
  }

  Stmt plan_parts(const Stmt& stmt, Uses* uses) {
    if (is_piece(stmt.get())) return plan_piece(stmt.as<AttrStmt>(), uses);
    if (auto* loop = stmt.as<For>()) {
      host_uses({loop->min, loop->extent}, uses);
      return plan_loop(Ref<For>(loop), &For::body, uses);
    }
    if (auto* loop = stmt.as<While>()) {
      host_uses({loop->condition}, uses);
      return plan_loop(Ref<While>(loop), &While::body, uses);
    }
    if (auto* seq = stmt.as<SeqStmt>())
      return plan_sequence(std::vector<Stmt>(seq->seq.begin(), seq->seq.end()), nullptr, uses);
    if (auto* op = stmt.as<IfThenElse>()) {
      host_uses({op->condition}, uses);
      IfThenElse out(*op);
      out.then_case = plan(op->then_case, uses);
      if (op->else_case) out.else_case = plan(op->else_case, uses);
      uses->finished.clear();  // only on one of the ways
      return make(std::move(out));
    }
    if (auto* op = stmt.as<LetStmt>()) return plan_body(op, &LetStmt::body, op->value, uses);
    if (auto* op = stmt.as<AttrStmt>()) return plan_body(op, &AttrStmt::body, op->value, uses);
    if (auto* op = stmt.as<AssertStmt>()) return plan_body(op, &AssertStmt::body, op->condition, uses);
    if (auto* op = stmt.as<DeclBuffer>()) return plan_body(op, &DeclBuffer::body, nullptr, uses);
    if (auto* op = stmt.as<Allocate>()) return plan_allocation(op, uses);
    if (auto* op = stmt.as<AllocateConst>()) return plan_body(op, &AllocateConst::body, nullptr, uses);
    host_uses({stmt}, uses);
    return stmt;
  }

  template <class T>
  Stmt plan_body(const T* op, Stmt T::* body, const PrimExpr& head, Uses* uses) {
    if (head) host_uses({head}, uses);
    return with(Ref<T>(op), body, plan(op->*body, uses));
  }

  /// Memory is given back only when no queue uses it any more.
  Stmt plan_allocation(const Allocate* op, Uses* uses) {
    host_uses({op->condition}, uses);
    Stmt body = plan(op->body, uses);
    for (const auto& [queue, access] : uses->pending) {
      if (!access.reads.count(op->buffer_var.get()) && !access.writes.count(op->buffer_var.get())) continue;
      body = sequence({body, call("coproc_sync", {})});
      uses->pending.clear();
      break;
    }
    return with(Ref<Allocate>(op), &Allocate::body, body);
  }

  static Stmt plan_piece(const AttrStmt* piece, Uses* uses) {
    Access access = access_of(piece->body);
    uses->queues[*as_int(piece->value)].add(access);
    uses->pending[*as_int(piece->value)].add(access);
    return Stmt(piece);
  }

  void host_uses(std::initializer_list<ObjectRef> parts, Uses* uses) const {
    for (const ObjectRef& part : parts) {
      Access access = access_of(part);
      for (const VarNode* memory : access.reads)
        if (touched_.count(memory)) uses->host.reads.insert(memory);
      for (const VarNode* memory : access.writes)
        if (touched_.count(memory)) uses->host.writes.insert(memory);
    }
  }

  template <class T>
  Stmt plan_loop(const Ref<T>& loop, Stmt T::* body, Uses* uses) {
    const Stmt& inside = (*loop.get()).*body;
    auto* seq = inside.template as<SeqStmt>();
    std::vector<Stmt> parts = seq ? std::vector<Stmt>(seq->seq.begin(), seq->seq.end()) : std::vector<Stmt>{inside};
    std::set<Token> carried;
    Stmt planned = plan_sequence(parts, &carried, uses);
    std::vector<Stmt> out;
    for (const Token& token : carried) out.push_back(pass_token("coproc_dep_push", token));
    out.push_back(with(loop, body, planned));
    for (const Token& token : carried) out.push_back(pass_token("coproc_dep_pop", token));
    return sequence(out);
  }

  /// Statements in order, with what has to stand before and behind each.
  struct Part {
    Stmt original, stmt;
    Uses uses;
    std::vector<Stmt> before, after;
  };

  /// `carried` is given for the body of a loop, and gets the tokens that pass from one iteration to the next.
  Stmt plan_sequence(const std::vector<Stmt>& stmts, std::set<Token>* carried, Uses* uses) {
    std::vector<Part> parts(stmts.size());
    Memories written;  // by the host, and not yet shown to the coprocessor
    for (size_t i = 0; i < stmts.size(); ++i) {
      parts[i].original = stmts[i];
      parts[i].stmt = plan(stmts[i], &parts[i].uses);
      if (carried) unite(&written, parts[i].uses.host.writes);
    }
    std::map<Token, size_t> waited;  // one more than the last part that the second queue waited for
    size_t synced = 0;               // nothing before this part is pending
    for (size_t j = 0; j < parts.size(); ++j) {
      if (sync_before(&parts, synced, j)) synced = j;
      show_writes(&parts[j], &written);
      for (const auto& [queue, access] : parts[j].uses.queues)
        wait_for_queues(&parts, synced, j, queue, access, &waited);
      unite(&written, parts[j].uses.host.writes);
    }
    Uses all;
    for (const Part& part : parts) all.add(part.uses);
    all.pending.clear();
    for (size_t i = synced; i < parts.size(); ++i)
      for (const auto& [queue, access] : parts[i].uses.pending) all.pending[queue].add(access);
    for (const auto& [token, position] : waited) all.tokens.insert(token);
    finish(parts, waited, &all);
    if (carried) carry(&parts, synced, &all, carried);
    uses->add(all);
    uses->finished = all.finished;
    std::vector<Stmt> out;
    for (Part& part : parts) {
      out.insert(out.end(), part.before.begin(), part.before.end());
      out.push_back(part.stmt);
      out.insert(out.end(), part.after.begin(), part.after.end());
    }
    return sequence(out);
  }

  /// The host waits for everything where part `j` needs something that is pending.
  bool sync_before(std::vector<Part>* parts, size_t synced, size_t j) {
    const Access& needs = (*parts)[j].uses.host;
    bool is_needed = false;
    for (size_t i = synced; i < j; ++i)
      for (const auto& [queue, access] : (*parts)[i].uses.pending) is_needed |= access.conflicts(needs);
    if (!is_needed) return false;
    std::vector<Stmt>& before = (*parts)[j].before;
    before.push_back(call("coproc_sync", {}));
    for (size_t i = synced; i < j; ++i) show_results((*parts)[i], needs.reads, &before);
    return true;
  }

  void show_results(const Part& part, const Memories& read, std::vector<Stmt>* out) {
    Memories shown;
    for (const auto& [queue, access] : part.uses.pending)
      for (const VarNode* memory : access.writes)
        if (read.count(memory) && shown.insert(memory).second)
          out->push_back(barrier("coproc_write_barrier", part.original, memory, true));
  }

  void show_writes(Part* part, Memories* written) {
    Memories reads;
    for (const auto& [queue, access] : part->uses.queues) unite(&reads, access.reads);
    for (const VarNode* memory : reads)
      if (written->erase(memory)) part->before.push_back(barrier("coproc_read_barrier", part->original, memory, false));
  }

  /// Part `j` gives work to `queue`, which waits for the last part before whose work in another queue it depends on.
  void wait_for_queues(std::vector<Part>* parts, size_t synced, size_t j, int64_t queue, const Access& access,
                       std::map<Token, size_t>* waited) {
    std::set<int64_t> done;
    for (size_t i = j; i-- > synced;) {
      for (const auto& [other, work] : (*parts)[i].uses.pending) {
        Token token{other, queue};
        if (other == queue || !work.conflicts(access) || (*parts)[i].uses.finished.count(token)) continue;
        if (!done.insert(other).second) continue;
        size_t& last = (*waited)[token];
        if (last > i) continue;  // a part before waited for as much
        size_t push = i;         // tokens are counted, so no part with such tokens of its own may stand between
        for (size_t k = i + 1; k < j; ++k)
          if ((*parts)[k].uses.tokens.count(token)) push = k;
        last = push + 1;
        (*parts)[push].after.push_back(pass_token("coproc_dep_push", token));
        (*parts)[j].before.push_back(pass_token("coproc_dep_pop", token));
      }
    }
  }

  /// The same from the end of an iteration to the beginning of the next.
  void carry(std::vector<Part>* parts, size_t synced, Uses* all, std::set<Token>* carried) {
    for (const auto& [queue, access] : all->pending) {
      if (!access.conflicts(all->host)) continue;
      std::vector<Stmt>& end = parts->back().after;
      end.push_back(call("coproc_sync", {}));
      for (size_t i = synced; i < parts->size(); ++i) show_results((*parts)[i], all->host.reads, &end);
      all->pending.clear();
      return;
    }
    for (const auto& [from, pending] : all->pending) {
      for (const auto& [to, work] : all->queues) {
        Token token{from, to};
        if (from == to || !pending.conflicts(work) || all->finished.count(token)) continue;
        size_t last = last_use(*parts, from, work), first = 0;
        while (!conflicts((*parts)[first].uses.queues, to, pending)) ++first;
        (*parts)[last].after.push_back(pass_token("coproc_dep_push", token));
        (*parts)[first].before.insert((*parts)[first].before.begin(), pass_token("coproc_dep_pop", token));
        carried->insert(token);
        all->tokens.insert(token);
        all->finished.insert(token);  // by the token that is taken back behind the loop
      }
    }
  }

  static bool conflicts(const Queues& queues, int64_t queue, const Access& other) {
    auto it = queues.find(queue);
    return it != queues.end() && it->second.conflicts(other);
  }
  /// The last part whose pending work in `queue` conflicts with `other`; there is one.
  static size_t last_use(const std::vector<Part>& parts, int64_t queue, const Access& other) {
    size_t last = parts.size() - 1;
    while (!conflicts(parts[last].uses.pending, queue, other)) --last;
    return last;
  }

  static void finish(const std::vector<Part>& parts, const std::map<Token, size_t>& waited, Uses* all) {
    for (const auto& [from, pending] : all->pending) {
      for (const auto& [to, work] : all->queues) {
        Token token{from, to};
        if (from == to || !pending.conflicts(work)) continue;
        size_t last = last_use(parts, from, work);
        auto known = waited.find(token);
        bool is_waited_for = known != waited.end() && known->second > last;
        if (is_waited_for || parts[last].uses.finished.count(token)) all->finished.insert(token);
      }
    }
  }

  /// Names the elements of `memory` that the pieces in `stmt` read or write.
  Stmt barrier(const char* what, const Stmt& stmt, const VarNode* memory, bool writes) {
    loops::VarIntervals inner;
    Buffer buffer;
    std::optional<loops::Interval> region;
    auto add = [&](const Buffer& used, const Array<PrimExpr>& indices) {
      if (used->data.get() != memory || indices.size() != 1) return;
      buffer = used;
      loops::Interval here = loops::eval_interval(indices[0], inner, analyzer_);
      region = region ? loops::hull(*region, here, analyzer_) : here;
    };
    bool in_piece = false;
    std::function<bool(const Object*)> look = [&](const Object* node) {
      if (auto* loop = cast_or_null<For>(node))
        inner[loop->loop_var.get()] = loops::Interval::of(make_range(loop->min, loop->extent));
      if (auto* load = cast_or_null<BufferLoad>(node); load && in_piece && !writes) add(load->buffer, load->indices);
      if (auto* store = cast_or_null<BufferStore>(node); store && in_piece && writes)
        add(store->buffer, store->indices);
      if (!is_piece(node) || in_piece) return true;
      in_piece = true;
      pre_order(static_cast<const AttrStmt*>(node)->body, look);
      in_piece = false;
      return false;
    };
    pre_order(stmt, look);
    if (!region)
      throw Error(NotImplementedError) << "CoProcSync cannot say which elements of " << memory->name
                                       << " a coprocessor touches; they have to be loads and stores of flat memory";
    Range whole = make_range(make_zero(buffer->shape[0].dtype()), buffer->shape[0]);
    Range used = loops::cover(*region, whole, analyzer_);
    return call(what, {PrimExpr(memory), int_imm(DataType::Int(32), buffer->dtype.bits), analyzer_.simplify(used->min),
                       analyzer_.simplify(used->extent)});
  }

  std::string name_;
  Memories touched_;
  arith::Analyzer analyzer_;
};

}  // namespace

Stmt coproc_sync(const Stmt& body) { return Planner()(body); }

}  // namespace tessera

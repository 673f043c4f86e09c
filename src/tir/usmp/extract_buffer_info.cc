// When each allocation of a module is live: time is the order of its statements, calls entered where they stand.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/stack.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/device_api.h"
#include "runtime/registry.h"
#include "tir/usmp/usmp.h"

namespace tessera::usmp {
namespace {

constexpr int64_t kForever = INT64_MAX;

/// From the first use to the last, both included.
struct Span {
  int64_t first, last;
};

struct Planned {
  BufferInfo info;
  Stmt stmt;
  std::vector<Span> spans;  // one for each time the allocation is come by
  size_t loops = 0;         // how many loops stand around the allocation
  bool is_constant = false, is_excluded = false;
};

bool is_global(const Var& data) {
  auto* pointer = data->type_annotation.as<PointerType>();
  return !pointer || pointer->storage_scope.empty() || pointer->storage_scope == "global" ||
         pointer->storage_scope == "global.workspace";
}

bool runs_side_by_side(LoopKind kind) {
  return kind == LoopKind::Parallel || kind == LoopKind::Vectorized || kind == LoopKind::ThreadBinding;
}

class Lifetimes {
 public:
  explicit Lifetimes(const IRModule& mod) : mod_(mod) {}

  void enter(const PrimFunc& function) {
    if (!active_.insert(function.get()).second)
      throw Error(ValueError) << "a function that calls itself has no fixed workspace, so memory cannot be planned";
    visit(function->body);
    active_.erase(function.get());
  }

  std::vector<Planned> buffers;

 private:
  using Carried = std::vector<size_t>;  // the buffers that a pointer may point into

  void visit(const Stmt& stmt) {
    on_enough_stack([&] { step(stmt); });
  }

  void step(const Stmt& stmt) {
    if (auto* seq = stmt.as<SeqStmt>()) {
      for (const Stmt& part : seq->seq) visit(part);
    } else if (auto* op = stmt.as<Allocate>()) {
      for (const PrimExpr& extent : op->extents) use(extent);
      allocate(stmt, op, !is_one(op->condition));
    } else if (auto* constant = stmt.as<AllocateConst>()) {
      allocate(stmt, constant, false);
    } else if (auto* let = stmt.as<LetStmt>()) {
      carried_[let->var.get()] = use(let->value);
      visit(let->body);
    } else if (auto* loop = stmt.as<For>()) {
      use(loop->min);
      use(loop->extent);
      if (is_one(loop->extent) && loop->kind == LoopKind::Serial) return visit(loop->body);
      repeat(runs_side_by_side(loop->kind), [&] { visit(loop->body); });
    } else if (auto* again = stmt.as<While>()) {
      repeat(false, [&] {
        use(again->condition);
        visit(again->body);
      });
    } else if (auto* choice = stmt.as<IfThenElse>()) {
      use(choice->condition);
      visit(choice->then_case);
      if (choice->else_case) visit(choice->else_case);
    } else if (auto* attr = stmt.as<AttrStmt>()) {
      use(attr->value);
      bool launches = attr->attr_key == "thread_extent" || attr->attr_key == "virtual_thread";
      side_by_side_ += launches;
      visit(attr->body);
      side_by_side_ -= launches;
    } else if (auto* check = stmt.as<AssertStmt>()) {
      use(check->condition);
      visit(check->body);
    } else if (auto* declare = stmt.as<DeclBuffer>()) {
      visit(declare->body);
    } else if (auto* store = stmt.as<BufferStore>()) {
      Carried used = use(store->value);
      for (const PrimExpr& index : store->indices) use(index);
      touch(store->buffer->data.get());
      if (store->value.dtype().is_handle()) keep(used);
    } else if (auto* evaluate = stmt.as<Evaluate>()) {
      Carried used = use(evaluate->value);
      // An address that is written down somewhere may be followed at any time later.
      if (builtin::is(evaluate->value, builtin::tvm_struct_set())) keep(used);
    } else {
      throw Error(ValueError) << "memory is planned for functions of plain loops, and this one holds a "
                              << stmt->type_key() << "; lower it first";
    }
  }

  template <class T>
  void allocate(const Stmt& stmt, const T* op, bool is_conditional) {
    constexpr bool is_constant = std::is_same_v<T, AllocateConst>;
    Array<PoolInfo> pools;
    if (ObjectRef given = op->annotations.get_or_null(kCandidatePools)) pools = downcast<Array<PoolInfo>>(given);
    int64_t bytes = bytes_of(op->dtype, op->extents);
    if (pools.empty() || bytes < 0 || is_conditional || !is_global(op->buffer_var)) return visit(op->body);
    auto [known, is_new] = number_of_.emplace(op, buffers.size());
    size_t number = known->second;
    if (is_new) {
      Planned fresh;
      fresh.info = make(BufferInfoNode{.name_hint = op->buffer_var->name,
                                       .size_bytes = integer(bytes),
                                       .pool_candidates = pools,
                                       .alignment = integer(kAllocAlignment)});
      fresh.stmt = stmt;
      fresh.is_constant = is_constant;
      buffers.push_back(std::move(fresh));
    }
    // Copies of the loop's body that run at the same time would share the offset.
    buffers[number].is_excluded |= side_by_side_ > 0 && !is_constant;
    buffers[number].loops = open_loops_.size();
    buffers[number].spans.push_back(is_constant ? Span{0, kForever} : Span{kForever, -1});
    carried_[op->buffer_var.get()] = {number};
    visit(op->body);
  }

  template <class F>
  void repeat(bool is_side_by_side, const F& body) {
    int64_t begin = time_++;
    open_loops_.emplace_back();
    side_by_side_ += is_side_by_side;
    body();
    side_by_side_ -= is_side_by_side;
    std::unordered_set<size_t> used = std::move(open_loops_.back());
    open_loops_.pop_back();
    int64_t end = time_++;
    // What an iteration leaves in a buffer from outside may be read by the next one.
    for (size_t number : used) {
      extend(number, begin);
      extend(number, end);
    }
  }

  void extend(size_t number, int64_t time) {
    Planned& buffer = buffers[number];
    Span& span = buffer.spans.back();
    span.first = std::min(span.first, time);
    span.last = std::max(span.last, time);
    if (!open_loops_.empty() && buffer.loops < open_loops_.size()) open_loops_.back().insert(number);
  }

  void touch(const Object* pointer) {
    auto found = carried_.find(pointer);
    if (found == carried_.end()) return;
    for (size_t number : found->second) extend(number, time_);
  }

  void keep(const Carried& used) {
    for (size_t number : used) extend(number, kForever);
  }

  /// Everything that the expression reads or points to is in use now; calls are entered.
  Carried use(const PrimExpr& e) {
    ++time_;
    Carried used;
    std::vector<const Call*> calls;
    auto meet = [&](const Object* pointer) {
      touch(pointer);
      auto found = carried_.find(pointer);
      if (found != carried_.end()) used.insert(used.end(), found->second.begin(), found->second.end());
    };
    walk(
        e, [&](const VarNode* var) { meet(var); }, [&](const BufferLoad* load) { meet(load->buffer->data.get()); },
        [&](const Call* call) { calls.push_back(call); });
    for (const Call* call : calls) {
      size_t first = 0;
      PrimFunc callee = callee_of(call, mod_, &first);
      if (!callee) continue;
      bind(callee, call, first);
      enter(callee);
      ++time_;
      for (size_t number : used) extend(number, time_);
    }
    return used;
  }

  void bind(const PrimFunc& callee, const Call* call, size_t first) {
    for (size_t i = 0; i < callee->params.size() && first + i < call->args.size(); ++i) {
      Carried given;
      auto add = [&](const Object* pointer) {
        auto found = carried_.find(pointer);
        if (found != carried_.end()) given.insert(given.end(), found->second.begin(), found->second.end());
      };
      walk(
          call->args[first + i], [&](const VarNode* var) { add(var); },
          [&](const BufferLoad* load) { add(load->buffer->data.get()); });
      const Var& param = callee->params[i];
      carried_[param.get()] = given;
      if (Buffer buffer = callee->buffer_map.get_or_null(param)) carried_[buffer->data.get()] = given;
    }
  }

  IRModule mod_;
  int64_t time_ = 0;
  int side_by_side_ = 0;
  std::unordered_map<const Object*, size_t> number_of_;
  std::unordered_map<const Object*, Carried> carried_;
  std::vector<std::unordered_set<size_t>> open_loops_;  // what each used that was allocated outside of it
  std::unordered_set<const Object*> active_;
};

/// Sets the conflicts of the buffers and returns the most bytes that are live at one time.
int64_t find_conflicts(const std::vector<Planned>& buffers) {
  struct Event {
    int64_t time;
    bool is_end;
    size_t number;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < buffers.size(); ++i)
    for (const Span& span : buffers[i].spans) {
      if (span.last < span.first) continue;  // never used
      events.push_back({span.first, false, i});
      events.push_back({span.last, true, i});
    }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.is_end, a.number) < std::tie(b.time, b.is_end, b.number);
  });
  std::vector<std::unordered_set<size_t>> conflicts(buffers.size());
  std::unordered_map<size_t, int> live;
  int64_t now = 0, most = 0;
  for (const Event& event : events) {
    int64_t bytes = buffers[event.number].is_constant ? 0 : buffers[event.number].info->size_bytes->value;
    int& count = live[event.number];
    if (event.is_end) {
      if (--count == 0) live.erase(event.number), now -= bytes;
      continue;
    }
    if (count++ > 0) continue;
    now += bytes;
    most = std::max(most, now);
    for (const auto& [other, times] : live)
      if (other != event.number) {
        conflicts[event.number].insert(other);
        conflicts[other].insert(event.number);
      }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<size_t> sorted(conflicts[i].begin(), conflicts[i].end());
    std::sort(sorted.begin(), sorted.end());
    Array<ObjectRef> infos;
    for (size_t other : sorted) infos.push_back(buffers[other].info);
    buffers[i].info.edit()->conflicts = infos;
  }
  return most;
}

Globals extract_buffer_info_globals{{"tir.usmp.analysis.extract_buffer_info", extract_buffer_info}};

}  // namespace

int64_t bytes_of(DataType dtype, const Array<PrimExpr>& extents) {
  int64_t out = (int64_t{dtype.bits} * dtype.lanes + 7) / 8;
  for (const PrimExpr& extent : extents) {
    const int64_t* value = as_int(extent);
    if (!value || *value < 0 || __builtin_mul_overflow(out, *value, &out)) return -1;
  }
  return out;
}

BufferInfoAnalysis extract_buffer_info(const PrimFunc& main, const IRModule& mod) {
  Lifetimes lifetimes(mod);
  lifetimes.enter(main);
  std::erase_if(lifetimes.buffers, [](const Planned& buffer) { return buffer.is_excluded; });
  std::unordered_map<std::string, int> names;
  for (Planned& buffer : lifetimes.buffers) {
    int count = names[buffer.info->name_hint.str()]++;
    if (count > 0) buffer.info.edit()->name_hint = buffer.info->name_hint + std::to_string(count);
  }
  int64_t pressure = find_conflicts(lifetimes.buffers);
  Map<BufferInfo, Stmt> infos;
  for (const Planned& buffer : lifetimes.buffers) infos.set(buffer.info, buffer.stmt);
  return make(BufferInfoAnalysisNode{.buffer_info_stmts = infos, .memory_pressure = integer(pressure)});
}

}  // namespace tessera::usmp

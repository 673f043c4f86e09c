// Allocations move outward to the loop or launch they belong to, and those whose lives do not meet share memory.
//
//   for i: { allocate P[16]: ...P...; allocate Q[16]: ...Q... }     =>     allocate P[16]: for i: { ...P...; ...P... }
//
// An allocation belongs to the innermost parallel loop, thread launch, virtual thread or pragma around it. A buffer
// written by the statement that last reads another, element for element, may take over its memory. Small arrays of
// threads' own memory stay apart: they become registers.

#include <algorithm>
#include <unordered_map>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/transform/memory/storage_life.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr int64_t kMatchRange = 16;  // memory at most so many times larger is taken over
constexpr int64_t kSmallArrayBits = 32;

std::string scope_of(const Var& pointer) {
  auto* type = pointer->type_annotation.as<PointerType>();
  return type && !type->storage_scope.empty() ? type->storage_scope.str() : "global";
}

/// One piece of memory, shared by those assigned to it.
struct Memory {
  const Allocate* first;  // the allocation it is made of
  const Object* owner;
  std::string scope;
  int64_t elements;  // -1: not constant, or of several dimensions
  PrimExpr size;     // number of elements when not constant
  int free_at;       // the step after which it is not used
  bool is_shareable;
  const VarNode* holder;  // whose data lies there last
};

class Planner {
 public:
  explicit Planner(const Lives& found) : steps_(found.steps) {
    std::vector<Life> lives = found.lives;
    std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.first < b.first; });
    for (const Life& life : lives)
      if (!life.is_pinned) allocate(life);
  }

  const Memory& memory_of(const VarNode* var) const { return memories_[assigned_.at(var)]; }
  bool knows(const VarNode* var) const { return assigned_.count(var); }
  const std::vector<Memory>& memories() const { return memories_; }

 private:
  static int64_t constant_elements(const Allocate* op) {
    int64_t size = op->dtype.lanes;
    for (const PrimExpr& extent : op->extents) {
      PrimExpr simple = as_int(extent) ? extent : arith::Analyzer().simplify(extent);
      const int64_t* value = as_int(simple);
      if (!value || __builtin_mul_overflow(size, *value, &size)) return -1;
    }
    return size;
  }

  void allocate(const Life& life) {
    const Allocate* op = life.allocate;
    int64_t elements = constant_elements(op);
    std::string scope = scope_of(op->buffer_var);
    bool is_register =
        scope.rfind("local", 0) == 0 || scope.rfind("warp", 0) == 0 || scope.find('.') != std::string::npos;
    bool is_tiny = elements > 0 && elements * op->dtype.bits <= kSmallArrayBits;
    if (op->extents.size() > 1) elements = -1;  // shared where all extents agree
    bool shareable = !is_register && !is_tiny && is_one(op->condition) && op->annotations.empty();
    int found = shareable && life.first >= 0 ? find(life, scope, elements) : -1;
    if (found < 0) {
      found = static_cast<int>(memories_.size());
      memories_.push_back({op, life.owner, scope, elements, nullptr, life.last, shareable, op->buffer_var.get()});
    } else {
      Memory& memory = memories_[found];
      memory.elements = std::max(memory.elements, elements);
      memory.free_at = std::max(memory.free_at, life.last);
      memory.holder = op->buffer_var.get();
    }
    assigned_[op->buffer_var.get()] = static_cast<size_t>(found);
  }

  /// Memory that is free when `life` begins and fits best: the smallest that is large enough, else the largest.
  int find(const Life& life, const std::string& scope, int64_t elements) {
    int best = -1;
    for (size_t i = 0; i < memories_.size(); ++i) {
      const Memory& memory = memories_[i];
      if (!memory.is_shareable || memory.owner != life.owner || memory.scope != scope) continue;
      if (memory.first->dtype.element() != life.allocate->dtype.element()) continue;
      if (memory.first->dtype.lanes != life.allocate->dtype.lanes) continue;
      bool in_place = is_in_place(memory, life);
      if (memory.free_at >= life.first && !in_place) continue;
      if (elements < 0 || memory.elements < 0) {
        if (elements == memory.elements && same_extents(memory.first, life.allocate)) return static_cast<int>(i);
        continue;
      }
      if (memory.elements > elements * kMatchRange || elements > memory.elements * kMatchRange) continue;
      if (in_place && memory.elements >= elements) return static_cast<int>(i);
      if (best < 0) best = static_cast<int>(i);
      else if (fits_better(memory.elements, memories_[best].elements, elements)) best = static_cast<int>(i);
    }
    return best;
  }

  static bool fits_better(int64_t a, int64_t b, int64_t wanted) {
    if ((a >= wanted) != (b >= wanted)) return a >= wanted;
    return a >= wanted ? a < b : a > b;
  }

  static bool same_extents(const Allocate* a, const Allocate* b) {
    if (a->extents.size() != b->extents.size()) return false;
    for (size_t i = 0; i < a->extents.size(); ++i)
      if (!deep_equal(a->extents[i], b->extents[i])) return false;
    return true;
  }

  /// The last use of the memory's holder is the first of the new one, in one store or in a nest of loops around one.
  bool is_in_place(const Memory& memory, const Life& life) const {
    const Step& step = steps_[static_cast<size_t>(life.first) - 1];
    const VarNode* target = life.allocate->buffer_var.get();
    if (step.store) return memory.free_at == life.first && can_be_in_place(step.store, target, memory.holder);
    return step.region && memory.free_at == step.end && nest_can_be_in_place(step.region, target, memory.holder);
  }

  const std::vector<Step>& steps_;
  std::vector<Memory> memories_;
  std::unordered_map<const VarNode*, size_t> assigned_;
};

class StorageRewriter {
 public:
  explicit StorageRewriter(const Planner& plan) : plan_(plan) {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const Allocate* op) -> Stmt {
      return plan_.knows(op->buffer_var.get()) ? rewriter_(op->body) : Stmt(rewriter_.children(op));
    });
    on.on([this](const VarNode* var) -> PrimExpr { return renamed(Var(var)); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      BufferLoad out(*op);
      out.buffer = renamed(op->buffer);
      out.indices = rewriter_(op->indices);
      return make(std::move(out));
    });
    on.on([this](const BufferStore* op) -> Stmt {
      BufferStore out(*op);
      out.buffer = renamed(op->buffer);
      out.value = rewriter_(op->value);
      out.indices = rewriter_(op->indices);
      return make(std::move(out));
    });
    on.on([this](const For* op) -> Stmt {
      Ref<For> out = rewriter_.children(op);
      return with(out, &For::body, allocate_in(op, out->body));
    });
    on.on([this](const AttrStmt* op) -> Stmt {
      Ref<AttrStmt> out = rewriter_.children(op);
      if (Var var = downcast_or_null<Var>(op->node)) out = with(out, &AttrStmt::node, ObjectRef(renamed(var)));
      return with(out, &AttrStmt::body, allocate_in(op, out->body));
    });
  }

  Stmt operator()(const Stmt& body) { return allocate_in(nullptr, rewriter_(body)); }

 private:
  Var renamed(const Var& var) { return plan_.knows(var.get()) ? plan_.memory_of(var.get()).first->buffer_var : var; }

  Buffer renamed(const Buffer& buffer) {
    if (!plan_.knows(buffer->data.get())) return buffer;
    const Memory& memory = plan_.memory_of(buffer->data.get());
    if (memory.first->buffer_var.same_as(buffer->data) && memory.elements < 0) return buffer;
    auto [it, is_new] = buffers_.try_emplace(buffer.get(), buffer, buffer);
    if (is_new && !memory.first->buffer_var.same_as(buffer->data)) {
      BufferNode node(*buffer.get());
      node.data = memory.first->buffer_var;
      node.name = node.data->name;
      it->second.second = make(std::move(node));
    }
    return it->second.second;
  }

  Stmt allocate_in(const Object* owner, Stmt body) {
    for (size_t i = plan_.memories().size(); i-- > 0;) {
      const Memory& memory = plan_.memories()[i];
      if (memory.owner != owner) continue;
      Allocate out(*memory.first);
      if (memory.elements >= 0 && out.extents.size() <= 1 && memory.is_shareable) {
        PrimExpr size = make_const(out.extents.empty() ? DataType::Int(32) : out.extents[0].dtype(),
                                   memory.elements / out.dtype.lanes);
        out.extents = {size};
      }
      out.extents = rewriter_(out.extents);
      out.body = body;
      body = make(std::move(out));
    }
    return body;
  }

  const Planner& plan_;
  Rewriter rewriter_;
  std::unordered_map<const BufferNode*, std::pair<Buffer, Buffer>> buffers_;
};

}  // namespace

PrimFunc storage_rewrite(const PrimFunc& function) {
  bool has_vector_loop = false;
  walk(function->body, [&](const For* loop) { has_vector_loop |= loop->kind == LoopKind::Vectorized; });
  if (has_vector_loop) throw Error(RuntimeError) << "StorageRewrite: run VectorizeLoop first; vector loops are left";
  Lives found = find_lives(function->body);
  if (found.lives.empty()) return function;
  Planner plan(found);
  return with_body(function, use_vector_types(StorageRewriter(plan)(function->body)));
}

}  // namespace tessera

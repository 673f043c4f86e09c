// Allocations move outward to the loop or launch they belong to, and those whose lives do not meet share memory.
//
//   for i: { allocate P[16]: ...P...; allocate Q[16]: ...Q... }     =>     allocate P[16]: for i: { ...P...; ...P... }
//
// An allocation belongs to the innermost parallel loop, thread launch, virtual thread or pragma around it. A buffer
// written by the statement that last reads another, element for element, may take over its memory. Small arrays of
// threads' own memory stay apart: they become registers.
//
// Memory of a device that "tvm.info.mem.<scope>" describes, and of scopes such as "global:tag", is one allocation for each
// owner and scope; what lives in it lies at offsets, and shares bits also where element types differ.

#include <algorithm>
#include <unordered_map>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/transform/memory/memory_info.h"
#include "tir/transform/memory/storage_life.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr int64_t kMatchRange = 16;  // memory at most so many times larger is taken over
constexpr int64_t kSmallArrayBits = 32;
constexpr int64_t kTaggedAlignBits = 32;  // of parts of tagged memory, where nothing says how long vectors are

std::string scope_of(const Var& pointer) {
  auto* type = pointer->type_annotation.as<PointerType>();
  return type && !type->storage_scope.empty() ? type->storage_scope.str() : "global";
}

/// Memory of one allocation per owner.
bool is_tagged(const std::string& scope) { return scope.find(':') != std::string::npos || memory_info(scope); }

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
  bool is_tagged = false;
  int64_t bits = 0;            // of tagged memory
  int64_t offset_bits = 0;     // from the beginning of the allocation it is part of
  int part_of = -1;            // the memory that is allocated for it; none: itself
  int64_t allocated_bits = 0;  // with all parts, where it has some
};

class Planner {
 public:
  explicit Planner(const Lives& found) : steps_(found.steps) {
    std::vector<Life> lives = found.lives;
    std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.first < b.first; });
    for (const Life& life : lives)
      if (!life.is_pinned) allocate(life);
    lay_out_tagged();
  }

  /// The memory in which the buffer lies, and the allocation that this is part of.
  const Memory& memory_of(const VarNode* var) const { return memories_[assigned_.at(var)]; }
  const Memory& allocation_of(const VarNode* var) const {
    const Memory& memory = memory_of(var);
    return memory.part_of < 0 ? memory : memories_[static_cast<size_t>(memory.part_of)];
  }
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
    if (is_tagged(scope)) return allocate_tagged(life, scope, elements);
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

  void allocate_tagged(const Life& life, const std::string& scope, int64_t elements) {
    const Allocate* op = life.allocate;
    if (elements < 0)
      throw Error(RuntimeError) << "StorageRewrite: " << op->buffer_var->name << " lies in memory \"" << scope
                                << "\", where sizes must be constant";
    int64_t bits = elements * op->dtype.bits;
    int best = -1;
    for (size_t i = 0; i < memories_.size() && life.first >= 0; ++i) {
      const Memory& memory = memories_[i];
      if (!memory.is_tagged || memory.owner != life.owner || memory.scope != scope) continue;
      bool in_place = memory.first->dtype == op->dtype && memory.bits >= bits && is_in_place(memory, life);
      if (memory.free_at >= life.first && !in_place) continue;
      if (memory.bits > bits * kMatchRange || bits > memory.bits * kMatchRange) continue;
      if (best < 0 || fits_better(memory.bits, memories_[best].bits, bits)) best = static_cast<int>(i);
    }
    if (best < 0) {
      best = static_cast<int>(memories_.size());
      memories_.push_back({op, life.owner, scope, elements, nullptr, life.last, false, op->buffer_var.get(), true});
    }
    Memory& memory = memories_[best];
    memory.bits = std::max(memory.bits, bits);
    memory.free_at = std::max(memory.free_at, life.last);
    memory.holder = op->buffer_var.get();
    assigned_[op->buffer_var.get()] = static_cast<size_t>(best);
  }

  /// Tagged memories of one owner and scope become parts of the first of them.
  void lay_out_tagged() {
    for (size_t i = 0; i < memories_.size(); ++i) {
      Memory& memory = memories_[i];
      if (!memory.is_tagged || memory.part_of >= 0) continue;
      MemoryInfo info = memory_info(memory.scope);
      int64_t align = info && info->max_simd_bits > 0 ? info->max_simd_bits : kTaggedAlignBits;
      auto aligned = [align](int64_t bits) { return (bits + align - 1) / align * align; };
      int64_t total = aligned(memory.bits);
      for (size_t j = i + 1; j < memories_.size(); ++j) {
        Memory& part = memories_[j];
        if (!part.is_tagged || part.owner != memory.owner || part.scope != memory.scope) continue;
        part.part_of = static_cast<int>(i);
        part.offset_bits = total;
        total += aligned(part.bits);
      }
      memory.allocated_bits = total;
      if (info && total > info->max_num_bits)
        throw Error(RuntimeError) << "Allocation exceed bound of memory tag " << memory.scope << ": " << total
                                  << " bits are needed, there are " << info->max_num_bits;
    }
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
    on.on([this](const VarNode* var) -> PrimExpr {
      if (plan_.knows(var) && plan_.memory_of(var).offset_bits != 0)
        throw Error(NotImplementedError) << "StorageRewrite: the address of " << var->name
                                         << ", which is part of other memory, is used other than by access_ptr";
      return renamed(Var(var));
    });
    on.on([this](const Call* op) -> PrimExpr {
      return builtin::is(op, builtin::tvm_access_ptr()) ? access_ptr(op) : PrimExpr(rewriter_.children(op));
    });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      BufferLoad out(*op);
      out.buffer = renamed(op->buffer);
      out.indices = moved(op->buffer, op->indices);
      return make(std::move(out));
    });
    on.on([this](const BufferStore* op) -> Stmt {
      BufferStore out(*op);
      out.buffer = renamed(op->buffer);
      out.value = rewriter_(op->value);
      out.indices = moved(op->buffer, op->indices);
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
  Var renamed(const Var& var) {
    return plan_.knows(var.get()) ? plan_.allocation_of(var.get()).first->buffer_var : var;
  }

  /// Where element 0 of the memory lies, counted in elements of the type.
  int64_t offset_of(const VarNode* var, DataType dtype) const {
    if (!plan_.knows(var)) return 0;
    int64_t bits = plan_.memory_of(var).offset_bits, element = dtype.bits * dtype.lanes;
    if (bits % element != 0)
      throw Error(RuntimeError) << "StorageRewrite: " << var->name << " begins at bit " << bits
                                << " of its memory, no multiple of " << dtype;
    return bits / element;
  }

  Array<PrimExpr> moved(const Buffer& buffer, const Array<PrimExpr>& indices) {
    Array<PrimExpr> out = rewriter_(indices);
    int64_t offset = offset_of(buffer->data.get(), buffer->dtype);
    if (offset == 0) return out;
    ICHECK(out.size() == 1) << "tagged memory is flat";
    DataType index = out[0].dtype();
    PrimExpr first = make_const(index.element(), offset);
    out.set(0, index.lanes == 1 ? first + out[0] : make_broadcast(first, index.lanes) + out[0]);
    return out;
  }

  PrimExpr access_ptr(const Call* op) {
    auto* var = op->args[1].as<VarNode>();
    int64_t offset = var ? offset_of(var, op->args[0].dtype()) : 0;
    if (offset == 0) return rewriter_.children(op);
    PrimExpr at = rewriter_(op->args[2]);
    return make_call(
        op->dtype, op->op,
        {op->args[0], renamed(Var(var)), make_const(at.dtype(), offset) + at, rewriter_(op->args[3]), op->args[4]});
  }

  Buffer renamed(const Buffer& buffer) {
    if (!plan_.knows(buffer->data.get())) return buffer;
    const Memory& memory = plan_.allocation_of(buffer->data.get());
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
      if (memory.owner != owner || memory.part_of >= 0) continue;
      Allocate out(*memory.first);
      if (memory.is_tagged) {
        int64_t element = out.dtype.bits * out.dtype.lanes;
        DataType counted = out.extents.empty() ? DataType::Int(32) : out.extents[0].dtype();
        out.extents = {make_const(counted, (memory.allocated_bits + element - 1) / element)};
      }
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

// Buffers of blocks are allocated at the innermost place that holds all their uses.
//
// The place is a block, or the body of a loop, which then becomes a block of its own to hold the allocation. What a
// reduction block writes lives across its reduction loops, so its place is outside them.

#include <algorithm>
#include <unordered_set>

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

/// The loops and blocks around a statement, outermost first.
using Path = std::vector<const Object*>;

class UseFinder {
 public:
  UseFinder() {
    visitor_.share_results(false);
    auto& on = visitor_;
    on.on([this](const For* op) -> Stmt { return inside(op, [&] { visitor_(op->body); }), Stmt(op); });
    on.on([this](const BlockRealize* op) -> Stmt { return on_realize(op), Stmt(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr { return use(op->buffer->data.get()), visitor_.children(op); });
    on.on([this](const BufferStore* op) -> Stmt { return use(op->buffer->data.get()), visitor_.children(op); });
    on.on([this](const VarNode* op) -> PrimExpr { return use(op), PrimExpr(op); });
  }

  void run(const Stmt& body) { visitor_(body); }
  std::unordered_map<const VarNode*, Path> places;  // of pointers of allocated buffers
  std::vector<Buffer> buffers;                      // in order of their first allocation

 private:
  template <class F>
  void inside(const Object* node, F visit) {
    path_.push_back(node);
    visit();
    path_.pop_back();
  }

  void on_realize(const BlockRealize* op) {
    visitor_(op->iter_values);
    visitor_(op->predicate);
    const Block& block = op->block;
    for (const Buffer& buffer : block->alloc_buffers) {
      buffers.push_back(buffer);
      allocated_.insert(buffer->data.get());
    }
    size_t depth = reduction_depth(op);
    if (depth < path_.size()) {
      Path here = std::exchange(path_, Path(path_.begin(), path_.begin() + static_cast<long>(depth)));
      for (const BufferRegion& region : block->writes) use(region->buffer->data.get());
      path_ = here;
    }
    inside(block.get(), [&] {
      for (const MatchBufferRegion& match : block->match_buffers) use(match->source->buffer->data.get());
      visitor_(block->init);
      visitor_(block->body);
    });
  }

  /// How many of the loops and blocks around are outside all loops that the block reduces over.
  size_t reduction_depth(const BlockRealize* op) const {
    size_t depth = path_.size();
    for (size_t i = 0; i < op->iter_values.size(); ++i) {
      if (op->block->iter_vars[i]->iter_type == IterType::DataPar) continue;
      for (size_t at = 0; at < depth; ++at) {
        auto* loop = cast_or_null<For>(path_[at]);
        if (loop && uses_var(op->iter_values[i], loop->loop_var)) depth = at;
      }
    }
    return depth;
  }

  void use(const VarNode* memory) {
    if (!allocated_.count(memory)) return;
    auto [it, is_new] = places.try_emplace(memory, path_);
    if (is_new) return;
    Path& place = it->second;
    size_t common = 0;
    while (common < place.size() && common < path_.size() && place[common] == path_[common]) ++common;
    place.resize(common);
  }

  Rewriter visitor_;
  Path path_;
  std::unordered_set<const VarNode*> allocated_;
};

class Planner {
 public:
  explicit Planner(const Stmt& body) {
    UseFinder finder;
    finder.run(body);
    for (const Buffer& buffer : finder.buffers) {
      auto place = finder.places.find(buffer->data.get());
      if (place == finder.places.end()) continue;  // never used: gone
      ICHECK(!place->second.empty()) << "buffer " << buffer->name << " is used outside every block";
      at_[place->second.back()].push_back(buffer);
    }
    rewriter_.share_results(false);
    rewriter_.on([this](const BlockNode* op) -> Stmt {
      BlockNode out(*rewriter_.children(op).get());
      out.alloc_buffers = allocations(op);
      return make(std::move(out));
    });
    rewriter_.on([this](const For* op) -> Stmt {
      Ref<For> out = rewriter_.children(op);
      Array<Buffer> here = allocations(op);
      return here.empty() ? out : with(out, &For::body, opaque_block(out->body, here));
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Array<Buffer> allocations(const Object* place) const {
    auto it = at_.find(place);
    return it == at_.end() ? Array<Buffer>() : Array<Buffer>(it->second);
  }

  static Stmt opaque_block(const Stmt& body, const Array<Buffer>& buffers) {
    BlockNode block;
    block.name_hint = "";
    block.body = body;
    block.alloc_buffers = buffers;
    return make(BlockRealize{.iter_values = {}, .predicate = bool_imm(true), .block = make(std::move(block))});
  }

  Rewriter rewriter_;
  std::unordered_map<const Object*, std::vector<Buffer>> at_;
};

PrimFunc plan_buffer_allocation(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, Planner(function->body)(function->body));
}

static Globals globals{
    {"tir.transform.PlanAndUpdateBufferAllocationLocation",
     [] { return prim_func_pass("tir.PlanAndUpdateBufferAllocationLocation", plan_buffer_allocation); }},
};

}  // namespace
}  // namespace tessera

#include "tir/analysis/access_scope.h"

#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// The loops and blocks around a statement, outermost first.
using Path = std::vector<const StmtNode*>;

class UseFinder {
 public:
  explicit UseFinder(const std::vector<Buffer>& more) {
    for (const Buffer& buffer : more) note(buffer);
    visitor_.share_results(false);
    auto& on = visitor_;
    on.on([this](const For* op) -> Stmt {
      visitor_(op->min);
      visitor_(op->extent);
      return inside(op, [&] { visitor_(op->body); }), Stmt(op);
    });
    on.on([this](const BlockRealize* op) -> Stmt { return on_realize(op), Stmt(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr { return use(op->buffer->data.get()), visitor_.children(op); });
    on.on([this](const BufferStore* op) -> Stmt { return use(op->buffer->data.get()), visitor_.children(op); });
    on.on([this](const VarNode* op) -> PrimExpr { return use(op), PrimExpr(op); });
  }

  AccessScopes run(const Stmt& body) {
    visitor_(body);
    AccessScopes out;
    for (const auto& [memory, path] : paths_) out.scopes[memory] = path.empty() ? nullptr : path.back();
    out.allocated = std::move(allocated_);
    return out;
  }

 private:
  void note(const Buffer& buffer) {
    known_.insert(buffer->data.get());
    std::string scope = buffer->scope();
    if (scope.empty() || scope == "global") shared_by_blocks_.insert(buffer->data.get());
  }

  template <class F>
  void inside(const StmtNode* node, F visit) {
    path_.push_back(node);
    visit();
    path_.pop_back();
  }

  void on_realize(const BlockRealize* op) {
    visitor_(op->iter_values);
    visitor_(op->predicate);
    const Block& block = op->block;
    for (const Buffer& buffer : block->alloc_buffers) {
      allocated_.push_back(buffer);
      note(buffer);
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

  /// How many of them are outside the loops of a launch: there is no global memory to allocate inside.
  size_t launch_depth() const {
    for (size_t at = 0; at < path_.size(); ++at) {
      auto* loop = cast_or_null<For>(path_[at]);
      if (!loop || !loop->thread_binding) continue;
      const std::string tag = loop->thread_binding->thread_tag.str();
      if (tag.starts_with("blockIdx") || tag.starts_with("threadIdx")) return at;
    }
    return path_.size();
  }

  void use(const VarNode* memory) {
    if (!known_.count(memory)) return;
    size_t depth = shared_by_blocks_.count(memory) ? launch_depth() : path_.size();
    auto [it, is_new] = paths_.try_emplace(memory, path_.begin(), path_.begin() + static_cast<long>(depth));
    if (is_new) return;
    Path& shared = it->second;
    size_t common = 0;
    while (common < shared.size() && common < depth && shared[common] == path_[common]) ++common;
    shared.resize(common);
  }

  Rewriter visitor_;
  Path path_;
  std::unordered_set<const VarNode*> known_, shared_by_blocks_;
  std::unordered_map<const VarNode*, Path> paths_;
  std::vector<Buffer> allocated_;
};

/// The scopes of all buffers that are used, as statements; None for what is used outside every loop and block.
Map<Buffer, ObjectRef> detect_buffer_access_lca(const PrimFunc& function) {
  std::vector<Buffer> params;
  for (const Var& param : function->params)
    if (Buffer buffer = function->buffer_map.get_or_null(param)) params.push_back(buffer);
  AccessScopes access = access_scopes(function->body, params);
  Map<Buffer, ObjectRef> out;
  params.insert(params.end(), access.allocated.begin(), access.allocated.end());
  for (const Buffer& buffer : params) {
    auto found = access.scopes.find(buffer->data.get());
    if (found != access.scopes.end()) out.set(buffer, found->second ? ObjectRef(found->second) : ObjectRef());
  }
  return out;
}

static Globals access_scope_globals{{"tir.analysis.detect_buffer_access_lca", detect_buffer_access_lca}};

}  // namespace

AccessScopes access_scopes(const Stmt& body, const std::vector<Buffer>& more) { return UseFinder(more).run(body); }

}  // namespace tessera

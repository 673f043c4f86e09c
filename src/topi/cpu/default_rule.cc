#include "topi/cpu/default_rule.h"

#include "codegen/parallel.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "topi/cpu/part_copies.h"
#include "topi/cpu/product_nest.h"
#include "topi/cpu/tile_contraction.h"
#include "topi/cpu/tile_dot.h"
#include "topi/cpu/tile_reduction.h"
#include "topi/cpu/tile_winograd.h"
#include "topi/cpu/windows.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kVectorLanes = 16;         // of the widest registers there are, in floats
constexpr int64_t kParallelElements = 4096;  // below this a second thread costs more than it brings

void tile(State& state, const BlockRef& block) {
  std::vector<LoopRef> loops = spatial_loops(state, block);
  if (loops.empty()) return;
  bool all_spatial = is_spatial(state.find(block)) && loops.size() == state.find(block).loops().size();
  int64_t total = 1;  // of the extents that are known
  bool is_open = false;
  for (const LoopRef& loop : loops) {
    int64_t extent = extent_of(state, loop);
    if (extent < 0) is_open = true;
    else total *= extent;
  }
  int64_t inside = 1;  // known elements in one iteration of the loop that will be shared
  if (all_spatial) {
    LoopRef inner = loops.back();
    int64_t extent = extent_of(state, inner);
    if (extent > kVectorLanes || extent < 0) {
      std::vector<LoopRef> parts;
      attempt([&] { parts = schedule::split(state, inner, {PrimExpr(), PrimExpr(int(kVectorLanes))}, true); });
      if (parts.size() == 2) loops.back() = parts[0], inner = parts[1];
      // Of an open extent whole vectors and the rest are parted, which needs the loop over vectors as it is.
      if (extent < 0 && loops.size() > 1) loops.pop_back();
      else inside = kVectorLanes;
    } else {
      loops.pop_back();
      inside = extent;
    }
    if (extent > 1 || extent < 0) attempt([&] { schedule::vectorize(state, inner); });
  }
  if (loops.empty() || total == 0 || (!is_open && total < kParallelElements)) return;
  LoopRef outer = loops[0];
  if (loops.size() > 1) attempt([&] { outer = schedule::fuse(state, loops, true); });
  attempt([&] {
    schedule::parallel(state, outer);
    if (is_open)  // whether it is worth sharing is seen at run time
      schedule::annotate(state, state.find(outer), attr::kLeastParallelExtent,
                         int_imm(DataType::Int(32), std::max<int64_t>(2, kParallelElements / inside)));
  });
}

/// The product of the loops around a block; those of open extents count as one.
int64_t iterations(const schedule::Place& place) {
  int64_t out = 1;
  for (const For* loop : place.loops())
    if (const int64_t* extent = as_int(loop->extent)) out *= *extent;
  return out;
}

/// A function of its elements, or a choice between them: not what one wants to do again for each step of a reduction.
bool is_costly(const BlockNode* block) {
  bool found = false;
  walk(block->body, [&](const Select*) { found = true; });
  walk(block->body, [&](const Call*) { found = true; });
  return found;
}

/// True for stages that are computed once and read often: put into their readers, they would be computed as often.
bool is_shared_work(const State& state, const BlockRef& block) {
  schedule::Place place = state.find(block);
  if (!is_costly(place.block())) return false;
  const int64_t once = iterations(place);
  for (const BlockRef& reader : schedule::get_consumers(state, block)) {
    schedule::Place there = state.find(reader);
    if (!is_spatial(there) && once > 0 && iterations(there) > 2 * once) return true;
  }
  return false;
}

/// The nest of one block, tiled in a function of its own: beside its fellows, which write the same tensor, the rules
/// for one block alone could not be shown to hold.
Stmt tiled_alone(const PrimFunc& function, const BlockRealize* root, const Stmt& nest) {
  Block body = with(root->block.get(), &BlockNode::body, nest);
  BlockProgram program(with(function, &PrimFuncNode::body, Stmt(with(root, &BlockRealize::block, body))));
  for (const BlockRef& block : program.stages()) tile(program.state, block);
  return program.function()->body.as<BlockRealize>()->block->body;
}

/// Nests to put in the place of others, by block.
struct Replacements {
  std::unordered_map<const Object*, std::vector<Stmt>> in_parts;  // of which each is to be tiled
  std::unordered_map<const Object*, Stmt> done;
};

/// The function with the nests of some blocks replaced by others.
PrimFunc with_replaced(const PrimFunc& function, const Replacements& replacements) {
  auto* root = function->body.as<BlockRealize>();
  std::vector<Stmt> stages;
  auto* several = root->block->body.as<SeqStmt>();
  for (const Stmt& nest : several ? several->seq : Array<Stmt>{root->block->body}) {
    const std::vector<Stmt>* parts = nullptr;
    const Stmt* done = nullptr;
    walk(nest, [&](const BlockNode* block) {
      if (auto it = replacements.in_parts.find(block); it != replacements.in_parts.end()) parts = &it->second;
      if (auto it = replacements.done.find(block); it != replacements.done.end()) done = &it->second;
    });
    if (done) {
      stages.push_back(*done);
      continue;
    }
    if (!parts) {
      stages.push_back(nest);
      continue;
    }
    for (const Stmt& part : *parts) stages.push_back(tiled_alone(function, root, part));
  }
  Block body = with(root->block.get(), &BlockNode::body, sequence(stages));
  return with(function, &PrimFuncNode::body, Stmt(with(root, &BlockRealize::block, body)));
}

/// The nest of a matrix product and what follows it, where the block is one.
bool put_product(const BlockProgram& program, const BlockRef& block, const Machine& machine, Replacements* out) {
  std::optional<Product> product = as_product(program.state, block, program.function());
  if (!product) return false;
  std::optional<ProductPlan> plan = plan_product(*product, machine);
  if (!plan) return false;
  Stmt nest = product_nest(*product, *plan);
  if (product->reader) {
    out->done.emplace(product->block, make_nop());
    out->done.emplace(product->reader, nest);
  } else {
    out->done.emplace(product->block, nest);
  }
  return true;
}

/// The nest of windows side by side and of what follows them, where the block reduces such.
bool put_windows(const State& state, const BlockRef& block, const Machine& machine, Replacements* out) {
  std::optional<Windows> windows = as_windows(state, block, machine);
  if (!windows) return false;
  out->done.emplace(windows->reduction.block, windows->reader ? make_nop() : window_nest(*windows));
  if (windows->reader) out->done.emplace(windows->reader, window_nest(*windows));
  if (windows->padding) out->done.emplace(windows->padding, make_nop());
  return true;
}

}  // namespace

PrimFunc schedule_default_cpu(const PrimFunc& function, const Target& target) {
  BlockProgram program(function);
  State& state = program.state;
  const bool has_machine = target && target->kind->name == "llvm";
  if (!has_machine || !tile_winograd(program, machine_of(target)))
    inline_elementwise(state, program.stages(), [&](const BlockRef& block) { return is_shared_work(state, block); });
  Replacements replaced;
  auto is_replaced = [&](const BlockRef& block) { return replaced.done.count(state.find(block).block()) > 0; };
  if (has_machine) {
    Machine machine = machine_of(target);
    for (const BlockRef& block : program.stages()) {
      if (is_scheduled(state.find(block)) || is_replaced(block)) continue;
      if (put_product(program, block, machine, &replaced)) continue;
      if (put_windows(state, block, machine, &replaced)) continue;
      if (!tile_contraction(state, block, machine) && !tile_dot(state, block, machine))
        tile_reduction(state, block, machine);
    }
  }
  for (const BlockRef& block : program.stages())
    if (!is_scheduled(state.find(block)) && !is_replaced(block)) keep_init(state, block);
  for (const BlockRef& block : program.stages()) {
    if (is_scheduled(state.find(block)) || is_replaced(block)) continue;
    std::vector<Stmt> parts = part_copies(state.find(block));
    if (parts.empty()) tile(state, block);
    else replaced.in_parts.emplace(state.find(block).block(), std::move(parts));
  }
  return replaced.in_parts.empty() && replaced.done.empty() ? program.function()
                                                            : with_replaced(program.function(), replaced);
}

static Globals globals{{"topi.cpu.schedule_default", schedule_default_cpu}};

}  // namespace tessera::topi

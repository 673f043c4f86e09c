#include "topi/cpu/default_rule.h"

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "topi/cpu/borders.h"
#include "topi/cpu/part_copies.h"
#include "topi/cpu/product_nest.h"
#include "topi/cpu/tile_contraction.h"
#include "topi/cpu/tile_dot.h"
#include "topi/cpu/tile_elements.h"
#include "topi/cpu/tile_reduction.h"
#include "topi/cpu/tile_winograd.h"
#include "topi/cpu/windows.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::State;

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

/// The nests of one block's parts, each tiled in a function of its own: beside its fellows, which write the same tensor, the
/// rules for one block alone could not be shown to hold. Parts may have parts along another axis where they are few.
void tile_parts(const PrimFunc& function, const BlockRealize* root, const std::vector<Stmt>& nests,
                std::vector<Stmt>* out) {
  constexpr size_t kFew = 8;
  for (const Stmt& nest : nests) {
    Block body = with(root->block.get(), &BlockNode::body, nest);
    BlockProgram program(with(function, &PrimFuncNode::body, Stmt(with(root, &BlockRealize::block, body))));
    const BlockRef block = program.stages().front();
    if (nests.size() <= kFew) {
      std::vector<Stmt> parts = part_copies(program.state.find(block));
      if (!parts.empty()) {
        tile_parts(function, root, parts, out);
        continue;
      }
    }
    tile_elements(program.state, block);
    out->push_back(program.function()->body.as<BlockRealize>()->block->body);
  }
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
    tile_parts(function, root, *parts, &stages);
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
    if (Stmt nest = has_machine ? padding_nest(state.find(block), machine_of(target)->vector_bytes) : Stmt()) {
      replaced.done.emplace(state.find(block).block(), nest);
      continue;
    }
    std::vector<Stmt> parts = part_copies(state.find(block));
    if (parts.empty()) tile_elements(state, block);
    else replaced.in_parts.emplace(state.find(block).block(), std::move(parts));
  }
  return replaced.in_parts.empty() && replaced.done.empty() ? program.function()
                                                            : with_replaced(program.function(), replaced);
}

static Globals globals{{"topi.cpu.schedule_default", schedule_default_cpu}};

}  // namespace tessera::topi

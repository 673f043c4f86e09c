#include "topi/cpu/default_rule.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "topi/cpu/borders.h"
#include "topi/cpu/contraction/product_nest.h"
#include "topi/cpu/contraction/tile_contraction.h"
#include "topi/cpu/contraction/tile_dot.h"
#include "topi/cpu/contraction/tile_winograd.h"
#include "topi/cpu/part_copies.h"
#include "topi/cpu/tile_elements.h"
#include "topi/cpu/tile_reduction.h"
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

/// Nests that take the place of others. What a block was replaced by is known by a mark on it, which makes it scheduled for all
/// rules: no other may take it for its consumer or producer, and it stays found whatever happens around it.
class Replacements {
 public:
  bool empty() const { return nests_.empty(); }
  /// Nothing is left of the block: another nest computes what it did.
  void drop(State& state, const BlockRef& block) { put(state, block, make_nop()); }
  void put(State& state, const BlockRef& block, const Stmt& nest) { mark(state, block, {.done = nest}); }
  /// In parts, each of which is to be tiled.
  void put_parts(State& state, const BlockRef& block, std::vector<Stmt> parts) {
    mark(state, block, {.parts = std::move(parts)});
  }

  PrimFunc apply(const PrimFunc& function) const;

 private:
  struct Nest {
    Stmt done;
    std::vector<Stmt> parts;
  };
  void mark(State& state, const BlockRef& block, Nest nest) {
    ICHECK(!is_scheduled(state.find(block))) << "a nest is put in the place of a block that a rule has scheduled";
    schedule::annotate(state, state.find(block), kReplacedBlock,
                       int_imm(DataType::Int(32), static_cast<int64_t>(nests_.size())));
    nests_.push_back(std::move(nest));
  }
  /// What the blocks of a nest of the program were replaced by; null where they were not.
  const Nest* find(const Stmt& nest) const {
    const Nest* out = nullptr;
    walk(nest, [&](const BlockNode* block) {
      if (ObjectRef index = block->annotations.get_or_null(kReplacedBlock))
        out = &nests_[static_cast<size_t>(*as_int(downcast<PrimExpr>(index)))];
    });
    return out;
  }

  std::vector<Nest> nests_;
};

PrimFunc Replacements::apply(const PrimFunc& function) const {
  if (empty()) return function;
  auto* root = function->body.as<BlockRealize>();
  std::vector<Stmt> stages;
  auto* several = root->block->body.as<SeqStmt>();
  for (const Stmt& stage : several ? several->seq : Array<Stmt>{root->block->body}) {
    const Nest* nest = find(stage);
    if (nest && !nest->done) tile_parts(function, root, nest->parts, &stages);
    else stages.push_back(nest ? nest->done : stage);
  }
  Block body = with(root->block.get(), &BlockNode::body, sequence(stages));
  return with(function, &PrimFuncNode::body, Stmt(with(root, &BlockRealize::block, body)));
}

/// The nest of a contraction and its epilogue, where the block is one.
bool put_product(BlockProgram& program, const BlockRef& block, const Machine& machine, Replacements* out) {
  std::optional<Product> product = as_product(program.state, block, program.function());
  if (!product) return false;
  std::optional<ProductPlan> plan = plan_product(*product, machine);
  if (!plan) return false;
  Stmt nest = product_nest(*product, *plan);
  if (product->reader) out->drop(program.state, block);
  out->put(program.state, product->reader ? product->reader_ref : block, nest);
  return true;
}

/// The nest of windows side by side and of their epilogue, where the block reduces such.
bool put_windows(State& state, const BlockRef& block, const Machine& machine, Replacements* out) {
  std::optional<Windows> windows = as_windows(state, block, machine);
  if (!windows) return false;
  auto ref = [&](const BlockNode* node) { return State::ref(block.function, node); };
  const Stmt nest = window_nest(*windows);
  if (windows->padding) out->drop(state, ref(windows->padding));
  if (windows->reader) out->drop(state, block);
  out->put(state, windows->reader ? ref(windows->reader) : block, nest);
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
  if (has_machine) {
    Machine machine = machine_of(target);
    for (const BlockRef& block : program.stages()) {
      if (is_scheduled(state.find(block))) continue;
      if (put_product(program, block, machine, &replaced)) continue;
      if (put_windows(state, block, machine, &replaced)) continue;
      if (!tile_contraction(state, block, machine) && !tile_dot(state, block, machine))
        tile_reduction(state, block, machine);
    }
  }
  for (const BlockRef& block : program.stages())
    if (!is_scheduled(state.find(block))) keep_init(state, block);
  for (const BlockRef& block : program.stages()) {
    if (is_scheduled(state.find(block))) continue;
    if (Stmt nest = has_machine ? padding_nest(state.find(block), machine_of(target)->vector_bytes) : Stmt()) {
      replaced.put(state, block, nest);
      continue;
    }
    std::vector<Stmt> parts = part_copies(state.find(block));
    if (parts.empty()) tile_elements(state, block);
    else replaced.put_parts(state, block, std::move(parts));
  }
  return replaced.apply(program.function());
}

static Globals globals{{"topi.cpu.schedule_default", schedule_default_cpu}};

}  // namespace tessera::topi

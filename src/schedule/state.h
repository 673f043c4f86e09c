#pragma once
// The program under a schedule, and its loops and blocks by names that survive rewriting.
//
// A loop is known by its variable, a block by one of its iteration variables (by its name when it has none, as roots
// do). Rewrites that keep these keep every handle to them valid; one that gives a block other variables says so
// (State::rename); what a rewrite removes is no longer found.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "arith/analyzer.h"
#include "schedule/index.h"
#include "tir/function.h"

namespace tessera::schedule {

/// Where sample_compute_location may say to leave a block (Root) or to inline it, as a loop.
enum class LoopMark { None, Root, Inline };

struct LoopRef {
  GlobalVar function;
  Var var;
  LoopMark mark = LoopMark::None;
};
struct BlockRef {
  GlobalVar function;
  ObjectRef key;  // an iteration variable of it, or the name of a block that has none
};

/// A statement of a function and the statements around it.
struct Cursor {
  GlobalVar function;
  std::vector<Stmt> path;  // from the body of the function down to the statement itself

  const Stmt& stmt() const { return path.back(); }
  const For* loop() const { return stmt().as<For>(); }
  const BlockRealize* realize() const { return stmt().as<BlockRealize>(); }
  const BlockNode* block() const { return realize()->block.get(); }
  /// The loops around the statement inside the nearest block, outermost first.
  std::vector<const For*> loops() const;
  /// The block the statement stands in; null for the root of a function.
  const BlockRealize* scope() const;
};

class State {
 public:
  explicit State(IRModule mod);

  const IRModule& mod() const { return mod_; }
  PrimFunc function(const GlobalVar& var) const;

  /// Where the loop or block stands now; a ValueError when a rewrite has removed it.
  Cursor find(const LoopRef& loop) const;
  Cursor find(const BlockRef& block) const;
  /// All blocks of that name in the function.
  std::vector<Cursor> blocks_named(const GlobalVar& function, const std::string& name) const;

  static LoopRef ref(const GlobalVar& function, const For* loop) { return {function, loop->loop_var}; }
  static BlockRef ref(const GlobalVar& function, const BlockNode* block);

  /// Replaces the statement `old` by `fresh`; an empty `fresh` removes it.
  void replace(const GlobalVar& function, const Stmt& old, const Stmt& fresh);
  void set_body(const GlobalVar& function, const Stmt& body);
  void set_function(const GlobalVar& function, const PrimFunc& changed);
  /// Handles to the block `old` mean `fresh` from now on, whose iteration variables are others.
  void rename(const BlockNode* old, const BlockNode* fresh);
  /// A state of its own with the same program. (The copies that C++ makes share the program.)
  State copy() const;

  /// The program as it is, and the way back to it.
  struct Snapshot {
    Map<GlobalVar, BaseFunc> functions;
    size_t renamed;  // how many blocks had been renamed
  };
  Snapshot snapshot() const { return {mod_->functions, names_->log.size()}; }
  void restore(const Snapshot& before);

  /// References to statements that users hold, by the key of the loop or block; the key is kept alive.
  using Views = std::unordered_map<const Object*, std::pair<ObjectRef, ObjectRef>>;
  Views& views() const { return *views_; }

 private:
  /// The keys that replaced others, and these in the order in which that happened, which keeps them alive.
  struct Names {
    std::unordered_map<const Object*, ObjectRef> now;
    std::vector<std::pair<Var, ObjectRef>> log;  // the variable, and what it meant before
  };
  using Indices = std::unordered_map<const Object*, Index>;  // by function

  const Index& index(const GlobalVar& function) const;

  IRModule mod_;
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
  std::shared_ptr<Views> views_ = std::make_shared<Views>();
  std::shared_ptr<Indices> indices_ = std::make_shared<Indices>();
};

/// The loops that both stand in, outermost first.
std::vector<const For*> common_loops(const Cursor& a, const Cursor& b);

/// Every block realize in `stmt` that is not inside another block, with the statements from `stmt` down to it.
std::vector<Cursor> blocks_below(const Stmt& stmt, const GlobalVar& function);
/// Those of them that are wanted.
std::vector<Cursor> blocks_where(const Stmt& stmt, const GlobalVar& function,
                                 const std::function<bool(const BlockNode*)>& is_wanted);
/// The same for all blocks, nested ones included.
std::vector<Cursor> all_blocks(const Stmt& stmt, const GlobalVar& function);

/// The domains of the loops of `cursor`, for facts about its block's bindings.
Map<Var, Range> loop_domains(const Cursor& cursor);

/// Changes the statements of `stmt`, those around before those inside: what `change` returns stands instead, nothing
/// means to go inside.
Stmt map_statements(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& change);
/// Changes the outermost blocks of `stmt`, and nothing inside them.
Stmt map_blocks(const Stmt& stmt, const std::function<Stmt(const BlockRealize*)>& change);

/// `stmt` with the bindings of its outermost blocks simplified as digits of the loops around them.
Stmt simplify_bindings(const Stmt& stmt, const std::vector<const For*>& outer, bool simplify_unit_loops);

Range range_of(const For* loop);
/// "i, j, k"
std::string loop_names(const std::vector<const For*>& loops);

}  // namespace tessera::schedule

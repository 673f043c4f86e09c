#pragma once
// Where the loops and blocks of one function stand, kept up to date by what a rewrite changed.

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "schedule/statements.h"

namespace tessera::schedule {

/// The key of a block: its first iteration variable, or the object that is its name when it has none.
const Object* block_key(const BlockNode* block);

/// Finds loops and blocks of a body by their keys (state.h) without a walk through it. `follow` compares the body with the
/// one before and looks only at what is not the same object, so that a rewrite costs what it touched.
class Index {
 public:
  /// The body that questions are about from now on.
  void follow(const Stmt& body);
  /// The statements from the body down to the loop or block of that key; empty when there is none.
  Path find(const Object* key) const;
  /// The keys of the blocks of that name, in no order.
  std::vector<const Object*> named(const std::string& name) const;

 private:
  struct Entry {
    const StmtNode* stmt;  // a For or a BlockRealize of the body
    const Object* around;  // the key of the nearest loop or block around; null for the outermost
  };

  void add(const StmtNode* stmt, const Object* around);
  void update(const StmtNode* old, const StmtNode* fresh, const Object* around);
  void update_inner(const StmtNode* old, const StmtNode* fresh, const Object* around);
  void set(const StmtNode* stmt, const Object* around);
  void forget(const StmtNode* old);
  void forget_keys(const StmtNode* old);

  Stmt body_;
  std::unordered_map<const Object*, Entry> entries_;
  std::unordered_map<std::string, std::unordered_set<const Object*>> names_;
  std::unordered_set<const StmtNode*> kept_;  // while following: old statements that the fresh body has too
  std::vector<const StmtNode*> left_;         // and those that others replaced
};

}  // namespace tessera::schedule

#pragma once
// The nodes that reach code generation, and calls of a generator's function for the type that a node has.

#include <unordered_map>

#include "tir/buffer.h"
#include "tir/stmt.h"

namespace tessera::codegen {

template <class... T>
struct Nodes {};

using LoweredStatements = Nodes<LetStmt, AttrStmt, AssertStmt, BufferStore, Allocate, AllocateConst, DeclBuffer,
                                SeqStmt, Evaluate, IfThenElse, For, While>;
using LoweredExpressions =
    Nodes<VarNode, SizeVarNode, IntImm, FloatImm, StringImm, Cast, Not, Select, Ramp, Broadcast, Shuffle, Let,
          BufferLoad, Call, Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or>;

/// Calls `visit` with the node as a pointer of its own type; one that is not of the list was not lowered. `code` is what is
/// generated, for the error.
template <class Result, class... T, class Visit>
Result visit_lowered(Nodes<T...>, const Object* node, const char* code, Visit&& visit) {
  using Row = Result (*)(Visit&, const Object*);
  static const auto* table = new std::unordered_map<const NodeInfo*, Row>{
      {&T::info, [](Visit& function, const Object* n) -> Result { return function(static_cast<const T*>(n)); }}...};
  auto row = table->find(node->type()->node);
  if (row == table->end())
    throw Error(NotImplementedError) << "no " << code << " for " << node->type_key()
                                     << ": it has to be lowered before code generation";
  return row->second(visit, node);
}

}  // namespace tessera::codegen

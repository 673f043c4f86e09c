#pragma once
// Changing layouts through a graph: AlterOpLayout and ConvertLayout.

#include <functional>

#include "relay/layout_rule.h"

namespace tessera::relay {

/// The call in other layouts, made from arguments of unchanged meaning; empty to leave it as it is. `before` is the typed
/// call that stood there, `attrs` are its attributes as far as they followed the layouts of its arguments.
using AlterCall = std::function<Expr(const Call* before, const Attrs& attrs, const Array<Expr>& args)>;

/// Asks `alter` for every call of an operator that has a layout rule. Operators between altered calls follow by their
/// rules; where a layout meets something that expects another, a layout_transform is put in between, each once.
Expr rewrite_layouts(const Expr& root, const AlterCall& alter);

/// Placeholders of the shapes of arguments (tuples opened), as rules for altering layouts written in TE terms expect them.
Array<ObjectRef> placeholders_of(const Array<Expr>& args);

}  // namespace tessera::relay

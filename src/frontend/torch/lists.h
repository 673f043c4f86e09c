#pragma once
// Lists whose length a run decides: their one item is of the kind Rows, a tensor whose rows are the items. A loop that appends to a
// list, or a branch that may, makes one of an ordinary list.

#include "frontend/torch/importer.h"

namespace tessera::torch {

bool has_rows(const Value& list);
/// A list of the rows of a tensor, which are tensors or numbers of a kind.
Value list_of_rows(const Expr& rows, Value::Kind item);
/// The items of any list as rows, `like` the item of one that has none: its type counts alone.
Expr rows_of(const Operation& in, const Value& list, const Value& like);
/// The kind of the items of a list, or of what is appended to it.
Value::Kind item_kind(const Operation& in, const Value& list, const Value& like);
/// Something like an item of a list of rows.
Value item_like(const Operation& in, const Value& list);
/// The list with an item more.
void append_to(const Operation& in, const Value& list, const Value& item);
/// The list with the items of another behind its own.
Value extended_list(const Operation& in, const Value& list, const Value& more);
/// The items from `start` to `end` in steps of `step`, which the operation is given.
Value sliced_list(const Operation& in, const Value& list);

}  // namespace tessera::torch

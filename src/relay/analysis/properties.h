#pragma once
// What can be true of the Relay functions of a module between passes. The table of passes says which pass sees to which.

#include "ir/pass/table.h"
#include "relay/expr.h"

namespace tessera::relay {

extern const Property all_types_known;          // every expression has its type
extern const Property a_normal_form;            // operands are names
extern const Property basic_block_normal_form;  // what two scopes use has a name

/// In basic block normal form, none but variables, constants and the like is used in two scopes.
bool is_basic_block_form(const Expr& root);

}  // namespace tessera::relay

#pragma once
// Branches and loops over values, which may be lists.

#include <functional>

#include "frontend/tensorflow/operation.h"

namespace tessera::tensorflow {

using Condition = std::function<Expr(const Values& states)>;
using Body = std::function<Values(const Values& states)>;

/// Few iterations whose number is seen are written out; the rest is a recursive function.
Values while_loop(Operation& in, const Values& initial, const Condition& condition, const Body& body);
/// What one of two branches gives. A condition that is known takes one.
Values choose_branch(Operation& in, const Expr& condition, const std::function<Values()>& yes,
                     const std::function<Values()>& no);
/// True or false of a tensor of any type.
Expr as_truth(const NodeContext& in, const Expr& x);

// ---- lists ----------------------------------------------------------------------------------------------------------

/// The list with element `index` replaced; the first element says what the others are.
List with_element(const NodeContext& in, const List& list, const Expr& index, const Expr& element);
/// Its elements, stacked: zeros where none was set. An error where nothing is known of them.
Expr stacked(const NodeContext& in, const List& list);
/// The number of elements, int64.
Expr length_of(const NodeContext& in, const List& list);

}  // namespace tessera::tensorflow

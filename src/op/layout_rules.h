#pragma once
// Layout rules of operators: what the files of rules share.

#include "relay/layout_rule.h"
#include "relay/make.h"

namespace tessera::op::layout {

using relay::changed_attrs;
using relay::LayoutAnswer;
using relay::LayoutQuery;

/// Nothing is known: the call keeps the layouts it has.
LayoutAnswer unknown(const LayoutQuery& query);
/// The layout that the first of several inputs brings along.
Layout first_defined(const std::vector<Layout>& layouts);

// Operators whose attributes name axes: these move with the layout.
LayoutAnswer reduction(const LayoutQuery& query);
LayoutAnswer concatenation(const LayoutQuery& query);
LayoutAnswer splitting(const LayoutQuery& query);
LayoutAnswer transposition(const LayoutQuery& query);
LayoutAnswer slicing(const LayoutQuery& query);
LayoutAnswer padding(const LayoutQuery& query);
LayoutAnswer squeezing(const LayoutQuery& query);
LayoutAnswer batch_norm(const LayoutQuery& query);
LayoutAnswer softmax(const LayoutQuery& query);

}  // namespace tessera::op::layout

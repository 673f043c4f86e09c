#pragma once
// Which of its implementations computes a call on a target.

#include "ir/target/target.h"
#include "relay/strategy.h"

namespace tessera::kernel {

/// What the operator's strategy offers for a call under conditions known to hold; where it has none, its compute slot.
Array<relay::OpImplementation> valid_implementations(const Op& op, const Attrs& attrs, const Array<te::Tensor>& inputs,
                                                     const Type& out_type, const Target& target);
/// The one of the highest level, the first of equals; errors name the operator.
relay::OpImplementation select_implementation(const Op& op, const Attrs& attrs, const Array<te::Tensor>& inputs,
                                              const Type& out_type, const Target& target);

/// The tensors of a call by an implementation. An error in it names the operator.
Array<te::Tensor> compute_by(const relay::OpImplementation& implementation, const Op& op, const Attrs& attrs,
                             const Array<te::Tensor>& inputs, const Type& out_type, const Target& target);
/// The schedule of `outs`, whose most complex operator is `op`; the implementation has one. Errors name the operator.
te::Schedule schedule_by(const relay::OpImplementation& implementation, const Op& op, const Attrs& attrs,
                         const Array<te::Tensor>& outs, const Target& target);

}  // namespace tessera::kernel

#pragma once
// Tensorize: the loops from one axis inward replaced by a tensor intrinsic.

#include "te/nest/nest.h"

namespace tessera::te {

/// The loops from `iv` inward are done by the intrinsic.
void tensorize(const Stage& stage, const IterVar& iv, const TensorIntrin& intrin);

/// The nest of a compute stage whose `leaf` and everything inside it is done by the intrinsic the user named. The body
/// must be what the intrinsic declares to compute; an error shows both where it is not.
Stmt provide_tensorized(NestBuilder& builder, const Stage& stage, const IterVar& leaf);

}  // namespace tessera::te

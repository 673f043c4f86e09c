#pragma once
// A piece of computation and the hardware's way of doing it.

#include "tir/function.h"

namespace tessera {

/// `impl` may stand wherever a program does what `desc` does; both take the same buffers in the same order.
struct TensorIntrinNode : Object {
  PrimFunc desc, impl;
  static constexpr NodeInfo info{"tir.TensorIntrin", &Object::info};
  static void fields(auto f) {
    f("desc", &TensorIntrinNode::desc);
    f("impl", &TensorIntrinNode::impl);
  }
};
using TensorIntrin = Ref<TensorIntrinNode>;

/// Makes an intrinsic known by name; a name taken is an error unless `replace` is set.
void register_tensor_intrin(const std::string& name, TensorIntrin intrin, bool replace);
/// The intrinsic of that name, or an empty reference.
TensorIntrin find_tensor_intrin(std::string_view name);

}  // namespace tessera

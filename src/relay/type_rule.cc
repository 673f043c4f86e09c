#include "relay/type_rule.h"

namespace tessera::relay {

const TensorTypeNode* TypeQuery::tensor(int i) const {
  if (!is_known(i)) return nullptr;
  auto* out = type(i).as<TensorTypeNode>();
  if (!out) throw Error(TypeError) << "argument " << i << " must be a tensor, but is " << to_text(type(i));
  return out;
}

const TupleType* TypeQuery::tuple(int i) const {
  if (!is_known(i)) return nullptr;
  auto* out = type(i).as<TupleType>();
  if (!out) throw Error(TypeError) << "argument " << i << " must be a tuple, but is " << to_text(type(i));
  return out;
}

}  // namespace tessera::relay

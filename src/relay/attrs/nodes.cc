// The attribute types of operators.

#include "relay/attrs/nn.h"

namespace tessera::relay {
namespace {

register_types<DenseAttrs> nn;

}  // namespace
}  // namespace tessera::relay

#include "relay/graph_environment.h"

namespace tessera::relay {

GraphEnvironment GraphEnvironment::current() { return {Target::current(), PassContext::current()}; }

}  // namespace tessera::relay

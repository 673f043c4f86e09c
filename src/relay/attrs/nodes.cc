// The attribute types of operators.

#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pool.h"

namespace tessera::relay {
namespace {

register_types<BiasAddAttrs, DenseAttrs, LeakyReluAttrs, SoftmaxAttrs> nn;
register_types<ConvAttrs, Conv1DAttrs, Conv2DAttrs, Conv3DAttrs> conv;
register_types<PoolAttrs, MaxPool1DAttrs, MaxPool2DAttrs, MaxPool3DAttrs, AvgPoolAttrs, AvgPool1DAttrs, AvgPool2DAttrs,
               AvgPool3DAttrs, GlobalPool2DAttrs>
    pool;

}  // namespace
}  // namespace tessera::relay

// The attribute types of operators.

#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"

namespace tessera::relay {
namespace {

register_types<BiasAddAttrs, DenseAttrs, LeakyReluAttrs, SoftmaxAttrs> nn;
register_types<ConvAttrs, Conv1DAttrs, Conv2DAttrs, Conv3DAttrs> conv;
register_types<PoolAttrs, MaxPool1DAttrs, MaxPool2DAttrs, MaxPool3DAttrs, AvgPoolAttrs, AvgPool1DAttrs, AvgPool2DAttrs,
               AvgPool3DAttrs, GlobalPool2DAttrs>
    pool;
register_types<ReduceAttrs, ArgReduceAttrs, VarianceAttrs> reduce;
register_types<CastAttrs, ClipAttrs, ConcatenateAttrs, ExpandDimsAttrs, InitOpAttrs, LayoutTransformAttrs, ReshapeAttrs,
               SplitAttrs, SqueezeAttrs, StackAttrs, TakeAttrs, TransposeAttrs>
    transform;

}  // namespace
}  // namespace tessera::relay

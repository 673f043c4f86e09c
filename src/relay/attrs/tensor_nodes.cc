// The attribute types of operators on tensors of any kind.

#include "relay/attrs/index.h"
#include "relay/attrs/minifloat.h"
#include "relay/attrs/random.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/search.h"
#include "relay/attrs/signal.h"
#include "relay/attrs/transform.h"

namespace tessera::relay {
namespace {

register_types<GatherAttrs, GatherNDAttrs, MatrixSetDiagAttrs, OneHotAttrs, ScatterAttrs, ScatterAddAttrs,
               ScatterNDAttrs, SequenceMaskAttrs, SparseToDenseAttrs, TakeAttrs, TriluAttrs>
    index;
register_types<MultinomialAttrs, NormalAttrs, ThreefryGenerateAttrs, UniformAttrs> random;
register_types<ReduceAttrs, ArgReduceAttrs, VarianceAttrs> reduce;
register_types<ArgsortAttrs, ScanopAttrs, SearchSortedAttrs, TopkAttrs, UniqueAttrs> search;
register_types<ArangeAttrs, AutoSchedulerLayoutTransformAttrs, CastAttrs, ClipAttrs, ConcatenateAttrs,
               DynExpandDimsAttrs, EinsumAttrs, ExpandDimsAttrs, FftAttrs, FixedPointMultiplyAttrs, InitOpAttrs,
               LayoutTransformAttrs, MeshgridAttrs, MetaScheduleLayoutTransformAttrs, NdarraySizeAttrs, RepeatAttrs,
               ReshapeAttrs, ReshapeLikeAttrs, ReverseAttrs, ReverseSequenceAttrs, ShapeOfAttrs, SliceLikeAttrs,
               SlidingWindowAttrs, MinifloatAttrs, UniqueRowsAttrs, SplitAttrs, SqueezeAttrs, StackAttrs, StftAttrs,
               StridedSliceAttrs, TileAttrs, TransposeAttrs>
    transform;

}  // namespace
}  // namespace tessera::relay

// The attribute types of operators; tensor_nodes.cc lists those of operators on tensors of any kind.

#include "ir/prim/expr.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/qnn.h"
#include "relay/attrs/vision.h"

namespace tessera::relay {
namespace {

register_types<BatchMatmulAttrs, BiasAddAttrs, BitPackAttrs, DenseAttrs, DensePackAttrs, FIFOBufferAttrs,
               LeakyReluAttrs, MatmulAttrs, NLLLossAttrs, PReluAttrs, SoftmaxAttrs>
    nn;
register_types<NormAttrs, BatchNormAttrs, DropoutAttrs, GroupNormAttrs, InstanceNormAttrs, L2NormalizeAttrs,
               LayerNormAttrs, LRNAttrs>
    norm;
register_types<ConvAttrs, Conv1DAttrs, Conv2DAttrs, Conv3DAttrs, ConvTransposeAttrs, Conv1DTransposeAttrs,
               Conv2DTransposeAttrs, Conv2DWinogradAttrs, Conv3DTransposeAttrs, Conv3DWinogradAttrs, ConvWinogradAttrs,
               ConvWinogradWeightTransformAttrs, CorrelationAttrs, DeformableConv2DAttrs>
    conv;
register_types<BatchToSpaceNDAttrs, DilateAttrs, MirrorPadAttrs, PadAttrs, SpaceToBatchNDAttrs, SubPixelAttrs> pad;
register_types<AffineGridAttrs, CropAndResizeAttrs, Dilation2DAttrs, GridSampleAttrs, ResizeAttrs, Resize1DAttrs,
               Resize2DAttrs, Resize3DAttrs, UpSamplingAttrs, UpSampling3DAttrs>
    image;
register_types<PoolAttrs, MaxPool1DAttrs, MaxPool2DAttrs, MaxPool3DAttrs, AvgPoolAttrs, AvgPool1DAttrs, AvgPool2DAttrs,
               AvgPool3DAttrs, AdaptivePoolAttrs, AdaptivePool1DAttrs, AdaptivePool2DAttrs, AdaptivePool3DAttrs,
               GlobalPool2DAttrs>
    pool;

register_types<BroadcastAttrs, DequantizeAttrs, QuantizeAttrs, RequantizeAttrs, SimulatedQuantizeAttrs> qnn;
register_types<AllClassNonMaximumSuppressionAttrs, GetValidCountsAttrs, MultiBoxPriorAttrs, MultiBoxTransformLocAttrs,
               NonMaximumSuppressionAttrs, ProposalAttrs, ROIAlignAttrs, ROIPoolAttrs, YoloReorgAttrs>
    vision;

}  // namespace

PrimExpr real_number(double value) { return make_const(DataType::Float(32), value); }

}  // namespace tessera::relay

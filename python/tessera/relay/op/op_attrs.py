"""The attributes of operators, one class for each kind: what `isinstance(call.attrs, ...)` asks."""

from __future__ import annotations

from ... import _ffi_core
from ..._ffi.registry import register_object
from ...ir import Attrs

_NAMES = (
    "AdaptivePool2D AdaptivePool3D AffineGrid AllClassNonMaximumSuppression AllocStorage AllocTensor Arange ArgReduce "
    "Argsort AvgPool1D AvgPool2D AvgPool3D BatchMatmul BatchNorm BatchToSpaceND BiasAdd BinaryConv2D BinaryDense BitPack "
    "Broadcast Cast CastHint Clip Compiler Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv2DWinograd "
    "Conv2DWinogradNNPACKWeightTransform Conv3D Conv3DTranspose Conv3DWinograd ConvGemmWeightTransform "
    "ConvWinogradWeightTransform Correlation CropAndResize Debug DeformableConv2D Dense DensePack Dequantize DeviceCopy "
    "Dilate Dilation2D Dropout ExpandDims FIFOBuffer FixedPointMultiply Gather GetValidCounts GlobalPool2D GridSample "
    "GroupNorm InitOp InstanceNorm L2Normalize LRN LayerNorm LayoutTransform LeakyRelu Matmul MaxPool1D MaxPool2D "
    "MaxPool3D Meshgrid MirrorPad MultiBoxPrior MultiBoxTransformLoc NLLLoss NdarraySize NonMaximumSuppression OnDevice "
    "OneHot PRelu Pad Proposal Quantize ROIAlign ROIPool Reduce Repeat Requantize Reshape ReshapeLike Resize1D Resize2D "
    "Resize3D Reverse ReverseSequence Scatter SearchSorted SequenceMask ShapeFunc ShapeOf SimulatedQuantize SliceLike "
    "Softmax SpaceToBatchND SparseConv2D SparseDense SparseToDense SparseTranspose Split Squeeze Stack StridedSlice "
    "SubPixel Take ThreefryGenerate Tile Topk Transpose Trilu TupleGetItem Uniform UpSampling UpSampling3D Variance "
    "WithFuncId YoloReorg"
)


def _attrs_class(name: str) -> type[Attrs]:
    """The class of "relay.attrs.<name>Attrs", registered where the core has that type."""
    doc = f"Attributes of type relay.attrs.{name}Attrs."
    cls = type(f"{name}Attrs", (Attrs,), {"__doc__": doc, "__module__": __name__})
    key = f"relay.attrs.{name}Attrs"
    return register_object(key)(cls) if _ffi_core.type_index(key) >= 0 else cls


globals().update({f"{name}Attrs": _attrs_class(name) for name in _NAMES.split()})

__all__ = [f"{name}Attrs" for name in _NAMES.split()]

"""Quantisation after training: convolutions and linear layers of a float model on int8."""

from ._annotate import annotate, register_annotate_function
from ._calibrate import calibrate, collect_stats
from ._partition import QPartitionExpr, register_partition_function
from ._partition_conversions import partition_conversions
from .config import (
    QAnnotateKind,
    QConfig,
    QuantizeContext,
    current_qconfig,
    kind2str,
    qconfig,
    quantize_context,
)
from .quantize import partition, prerequisite_optimize, quantize, realize

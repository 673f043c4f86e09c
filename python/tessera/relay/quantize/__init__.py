"""Quantisation after training: convolutions and linear layers of a float model on int8."""

from .annotate import register_annotate_function
from .calibrate import calibrate, collect_stats
from .config import (
    QAnnotateKind,
    QConfig,
    QuantizeContext,
    current_qconfig,
    kind2str,
    qconfig,
    quantize_context,
)
from .quantize import prerequisite_optimize, quantize

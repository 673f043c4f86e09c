"""Quantisation after training: convolutions and linear layers of a float model on int8."""

from ._annotate import annotate, register_annotate_function
from ._calibrate import calibrate, collect_stats
from .config import (
    QAnnotateKind,
    QConfig,
    QuantizeContext,
    current_qconfig,
    kind2str,
    qconfig,
    quantize_context,
)
from .quantize import prerequisite_optimize, quantize, realize

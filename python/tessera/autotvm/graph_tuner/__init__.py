"""The graph tuner: of measured configurations of convolutions, those that are fastest together, moves between layouts included."""

from .base_graph_tuner import BaseGraphTuner
from .tuners import DPTuner, PBQPTuner

__all__ = ["BaseGraphTuner", "DPTuner", "PBQPTuner"]

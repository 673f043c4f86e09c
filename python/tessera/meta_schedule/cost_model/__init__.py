"""Cost models: how good candidates are before they are run."""

from .cost_model import CostModel, PyCostModel
from .mlp_model import MLPModel
from .random_model import RandomModel
from .xgb_model import XGBModel

__all__ = ["CostModel", "MLPModel", "PyCostModel", "RandomModel", "XGBModel"]

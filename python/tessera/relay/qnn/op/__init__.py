"""Quantised operators: integers that stand for real numbers, value = scale * (integer - zero point)."""

from .qnn import *
from .requantize_config import RequantizeConfig, current_requantize_config, requantize_config

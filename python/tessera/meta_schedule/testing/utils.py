"""The same as tune_utils."""

from .tune_utils import create_time_per_layer, create_timer, generate_input_data

__all__ = ["create_time_per_layer", "create_timer", "generate_input_data"]

"""What compilation of a model yields."""

from .executor import Executor
from .runtime import Runtime

__all__ = ["Executor", "Runtime"]

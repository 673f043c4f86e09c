"""Random numbers from keys."""

from .kernel import *
from .kernel import __all__ as __all__

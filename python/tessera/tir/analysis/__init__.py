"""Questions about loop programs."""

from .analysis import *

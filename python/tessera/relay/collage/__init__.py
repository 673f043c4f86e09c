"""Choosing between toolchains for a model by what their code costs."""

from . import collage
from .collage import *

__all__ = [*collage.__all__]

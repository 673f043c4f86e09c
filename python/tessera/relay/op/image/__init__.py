"""Operators on images."""

from .image import *

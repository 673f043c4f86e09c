"""Passes over Relay programs."""

from .language import *
from .transform import *

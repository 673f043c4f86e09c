"""Passes over Relay programs."""

from .transform import *

"""What can be said of a Relay program without running it."""

from .analysis import *
from .feature import Feature

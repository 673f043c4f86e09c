"""What can be said of a Relay program without running it."""

from .analysis import *
from .call_graph import CallGraph
from .feature import Feature

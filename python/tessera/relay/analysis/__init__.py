"""What can be said of a Relay program without running it."""

from .analysis import *
from .annotated_regions import AnnotatedRegion, AnnotatedRegionSet
from .call_graph import CallGraph
from .feature import Feature

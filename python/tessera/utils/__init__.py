"""Tools around compiled models."""

from .roofline import estimate_peak_bandwidth as estimate_peak_bandwidth
from .roofline import estimate_peak_flops as estimate_peak_flops
from .roofline import roofline_analysis as roofline_analysis

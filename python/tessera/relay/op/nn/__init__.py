"""Neural-network operators."""

from .conv import *
from .nn import *
from .norm import *
from .pool import *

"""Operators of neural networks as tensor expressions."""

from .conv import *
from .dense import *
from .elementwise import *
from .pool import *
from .qnn import *
from .space import *
from .utils import *

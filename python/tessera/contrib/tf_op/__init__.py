"""Functions of a compiled library as operators of TensorFlow."""

from .module import OpModule, TensorFunc

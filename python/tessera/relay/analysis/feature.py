"""Which parts of the language a program uses."""

from enum import IntEnum

__all__ = ["Feature"]


class Feature(IntEnum):
    """A part of the language."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    #: an expression is shared
    fGraph = 15
    #: a let refers to itself
    fLetRec = 16

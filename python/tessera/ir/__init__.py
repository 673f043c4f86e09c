"""What all program representations share: nodes, types, modules, passes."""

from .base import (
    EnvFunc,
    Node,
    SourceName,
    Span,
    assert_structural_equal,
    get_first_structural_mismatch,
    load_json,
    make_node,
    save_json,
    structural_equal,
    structural_hash,
)
from .container import Array, Map

# What follows is made of the names above.
from .type import (  # isort: skip
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    PointerType,
    PrimType,
    RelayRefType,
    TupleType,
    Type,
    TypeConstraint,
    TypeKind,
    TypeVar,
)
from .tensor_type import TensorType  # isort: skip
from .type_relation import TypeCall, TypeRelation  # isort: skip
from .expr import BaseExpr, GlobalVar, PrimExpr, Range, RelayExpr  # isort: skip
from .adt import Constructor, TypeData  # isort: skip
from .affine_type import AffineType, TensorAffineType, TupleAffineType  # isort: skip
from .attrs import Attrs, DictAttrs  # isort: skip
from .function import BaseFunc, CallingConv  # isort: skip
from .op import Op, register_intrin_lowering, register_op_attr  # isort: skip
from .module import IRModule  # isort: skip
from . import transform  # isort: skip
from . import instrument  # isort: skip
from . import memory_pools  # isort: skip
from . import diagnostics  # isort: skip
from . import json_compact  # isort: skip

"""Relay: the graph language of models."""

from . import (
    analysis,
    backend,
    base,
    build_module,
    data_dep_optimization,
    dataflow_pattern,
    debug,
    expr,
    expr_functor,
    frontend,
    function,
    loops,
    op,
    param_dict,
    prelude,
    qnn,
    quantize,
    scope_builder,
    transform,
    ty,
    type_functor,
)
from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from .backend import vm
from .base import Id, RelayNode, SourceName, Span, astext, pretty_print
from .build_module import bind_params_by_name, build, create_executor, optimize
from .expr import (
    Call,
    Constant,
    Expr,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    bind,
    const,
    var,
)
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from .function import Function, FunctionWithFields
from .loops import while_loop
from .op import *
from .op import image, nn, vision
from .op._make import functions_of_records as _functions_of_records
from .param_dict import load_param_dict, save_param_dict
from .prelude import Prelude
from .scope_builder import ScopeBuilder
from .transform import build_config
from .ty import (
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
    scalar_type,
    type_has_any,
)
from .type_functor import TypeFunctor, TypeMutator, TypeVisitor

__getattr__ = _functions_of_records(__name__)

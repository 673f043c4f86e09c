"""Walks over types in Python: a method per kind of type."""

from __future__ import annotations

from typing import Any

from ..ir import TypeData
from .ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
)

__all__ = ["TypeFunctor", "TypeMutator", "TypeVisitor"]


class TypeFunctor:
    """Answers `visit(type)` by the method for its kind."""

    def visit(self, typ: Any) -> Any:
        """The answer for a type."""
        for kind, method in _METHODS:
            if isinstance(typ, kind):
                return getattr(self, method)(typ)
        raise Exception(f"unhandled case: {type(typ)}")

    def visit_type_var(self, _: TypeVar) -> Any:
        raise NotImplementedError()

    def visit_incomplete_type(self, _: IncompleteType) -> Any:
        raise NotImplementedError()

    def visit_tensor_type(self, _: TensorType) -> Any:
        raise NotImplementedError()

    def visit_func_type(self, _: FuncType) -> Any:
        raise NotImplementedError()

    def visit_tuple_type(self, _: TupleType) -> Any:
        raise NotImplementedError()

    def visit_type_relation(self, _: TypeRelation) -> Any:
        raise NotImplementedError()

    def visit_ref_type(self, _: RefType) -> Any:
        raise NotImplementedError()

    def visit_global_type_var(self, _: GlobalTypeVar) -> Any:
        raise NotImplementedError()

    def visit_type_call(self, _: TypeCall) -> Any:
        raise NotImplementedError()

    def visit_type_data(self, _: TypeData) -> Any:
        raise NotImplementedError()


_METHODS = (
    (TypeVar, "visit_type_var"),
    (IncompleteType, "visit_incomplete_type"),
    (TensorType, "visit_tensor_type"),
    (FuncType, "visit_func_type"),
    (TupleType, "visit_tuple_type"),
    (TypeRelation, "visit_type_relation"),
    (RefType, "visit_ref_type"),
    (GlobalTypeVar, "visit_global_type_var"),
    (TypeCall, "visit_type_call"),
    (TypeData, "visit_type_data"),
)


class TypeVisitor(TypeFunctor):
    """Visits all parts of a type."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        pass

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        pass

    def visit_tensor_type(self, tt: TensorType) -> Any:
        pass

    def visit_func_type(self, ft: FuncType) -> Any:
        for arg_type in ft.arg_types:
            self.visit(arg_type)
        self.visit(ft.ret_type)
        for type_param in ft.type_params:
            self.visit(type_param)
        for type_constraint in ft.type_constraints:
            self.visit(type_constraint)

    def visit_tuple_type(self, tt: TupleType) -> Any:
        for field in tt.fields:
            self.visit(field)

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        for arg in tr.args:
            self.visit(arg)

    def visit_ref_type(self, rt: RefType) -> Any:
        self.visit(rt.value)

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        pass

    def visit_type_call(self, tc: TypeCall) -> Any:
        self.visit(tc.func)
        for arg in tc.args:
            self.visit(arg)

    def visit_type_data(self, td: TypeData) -> Any:
        self.visit(td.header)
        for type_var in td.type_vars:
            self.visit(type_var)


class TypeMutator(TypeFunctor):
    """Rebuilds a type from its visited parts."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        return tv

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        return it

    def visit_tensor_type(self, tt: TensorType) -> Any:
        return tt

    def visit_func_type(self, ft: FuncType) -> Any:
        return FuncType(
            [self.visit(arg_type) for arg_type in ft.arg_types],
            self.visit(ft.ret_type),
            [self.visit(type_param) for type_param in ft.type_params],
            [self.visit(type_constraint) for type_constraint in ft.type_constraints],
        )

    def visit_tuple_type(self, tt: TupleType) -> Any:
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        return TypeRelation(tr.func, [self.visit(arg) for arg in tr.args], tr.num_inputs, tr.attrs)

    def visit_ref_type(self, rt: RefType) -> Any:
        return RefType(self.visit(rt.value))

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        return gtv

    def visit_type_call(self, tc: TypeCall) -> Any:
        return TypeCall(self.visit(tc.func), [self.visit(arg) for arg in tc.args])

    def visit_type_data(self, td: TypeData) -> Any:
        return TypeData(
            self.visit(td.header), [self.visit(type_var) for type_var in td.type_vars], list(td.constructors)
        )

"""Arrays of tensors for programs with loops: the data types and functions that a `Prelude` gets for an element type.

An array is a `List` of values of a data type. That of `TensorArrayOps` holds tensors of any shape of up to six
dimensions: `tensor_nil` (nothing written yet), `tensor0` ... `tensor6`. That of `StaticTensorArrayOps` holds tensors of
one shape (in which extents may be `Any`): `tensor_nil` and `tensor_constructor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..ir import TypeCall
from . import op
from .adt import Clause, Constructor, Match, PatternConstructor, PatternVar, PatternWildcard, TypeData
from .expr import If, Tuple, Var, const, var
from .function import Function
from .ty import Any as AnyExtent
from .ty import GlobalTypeVar, TensorType, scalar_type

if TYPE_CHECKING:
    from .prelude import Prelude

__all__ = ["StaticTensorArrayOps", "TensorArrayOps"]

MOST_DIMENSIONS = 6


def _int(name: str) -> Var:
    return var(name, scalar_type("int32"))


def _length(tensor: Any) -> Any:
    """The first extent of a tensor, as a scalar."""
    return op.take(op.shape_of(tensor), const(0), axis=0)


def _slice(tensor: Any, lower: Any, upper: Any) -> Any:
    return op.take(tensor, op.arange(lower, upper, dtype="int32"), axis=0)


class _ArrayOps:
    """What both kinds of arrays have: everything but the data type and what opens and closes its values."""

    def __init__(self, prelude: Prelude, dtype: str):
        self.prelude = prelude
        self.dtype = dtype

    # ---- for the two kinds to say -----------------------------------------------------------------------------

    def get_name(self, canonical: str) -> str:
        """The name of the version of a function or type."""
        raise NotImplementedError

    def get_ctor(self, canonical: str) -> Constructor:
        """A constructor of the type of elements."""
        return next(c for c in self._constructors if c.name_hint == self.get_name(canonical))

    # ---- parts ----------------------------------------------------------------------------------------------------

    _type_var: GlobalTypeVar
    _constructors: list[Constructor]

    @property
    def element(self) -> Any:
        """The type of elements."""
        return TypeCall(self._type_var, [])

    @property
    def array(self) -> Any:
        """The type of arrays."""
        return TypeCall(self.prelude.get_global_type_var("List"), [self.element])

    def get_type(self, canonical: str) -> Any:
        """The data type of elements ("tensor_t")."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_global_var(self, canonical: str) -> Any:
        """The version of a function."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def _library(self, name: str) -> Any:
        """A function of the prelude."""
        return self.prelude.mod.get_global_var(name)

    def _list(self, name: str) -> Constructor:
        return self.prelude.get_ctor("List", name)

    def is_cached(self, name: str) -> bool:
        """True when the module has a function of that name."""
        return any(str(known.name_hint) == name for known in self.prelude.mod.get_global_vars())

    def _define_type(self, constructors: list[tuple[str, list[Any]]]) -> None:
        name = self.get_name("tensor_t")
        if any(known.name_hint == name for known in self.prelude.mod.get_global_type_vars()):
            self._type_var, *self._constructors = self.prelude.mod.get_type(name)
            return
        self._type_var = GlobalTypeVar(name)
        self._constructors = [Constructor(self.get_name(n), inputs, self._type_var) for n, inputs in constructors]
        self.prelude.mod[self._type_var] = TypeData(self._type_var, [], self._constructors)

    def _define(self, canonical: str, params: list[Var], result: Any, body: Callable[[Any], Any]) -> Any:
        """A function of the module; `body` is given its name, by which it may call itself."""
        from ..ir import GlobalVar

        name = GlobalVar(self.get_name(canonical))
        setattr(self.prelude, name.name_hint, name)
        self.prelude.mod[name] = Function(params, body(name), result, [])
        return name

    # ---- functions ------------------------------------------------------------------------------------------------

    def define_tensor_array(self) -> None:
        """tensor_array(n): n elements that are nothing."""
        n = _int("n")

        def body(me: Any) -> Any:
            rest = self._list("Cons")(self.get_ctor("tensor_nil")(), me(op.subtract(n, const(1))))
            return If(op.equal(n, const(0)), self._list("Nil")(), rest)

        self._define("tensor_array", [n], self.array, body)

    def define_tensor_array_read(self) -> None:
        """tensor_array_read(array, n): element n."""
        array, n = var("tensor_array", self.array), _int("n")
        self._define("tensor_array_read", [array, n], self.element, lambda me: self._library("nth")(array, n))

    def define_tensor_array_write(self) -> None:
        """tensor_array_write(array, n, v): the array with v as element n."""
        array, n, value = var("tensor_array", self.array), _int("n"), var("v", self.element)
        self._define(
            "tensor_array_write", [array, n, value], self.array, lambda me: self._library("update")(array, n, value)
        )

    def define_tensor_array_scatter(self, indices_shape: Any = None, force_update: bool = False) -> None:
        """tensor_array_scatter(array, indices, values): the array with value i as element indices[i].

        With an `indices_shape` the number of indices is fixed. A function that is there already is left unless told otherwise.
        """
        if not force_update and self.is_cached(self.get_name("tensor_array_scatter")):
            return
        write, read = self.get_global_var("tensor_array_write"), self.get_global_var("tensor_array_read")

        def params() -> tuple[Var, Var, Var]:
            indices = var("indices", TensorType(list(indices_shape or [AnyExtent()]), "int32"))
            return var("tensor_array", self.array), indices, var("value", self.array)

        (array, indices, values), at, limit = params(), _int("current"), _int("limit")

        def body(me: Any) -> Any:
            written = write(array, op.take(indices, at, axis=0), read(values, at))
            return If(op.equal(at, limit), array, me(written, op.add(at, const(1)), limit, indices, values))

        helper = self._define("tensor_array_scatter_helper", [array, at, limit, indices, values], self.array, body)
        array, indices, values = params()
        self._define(
            "tensor_array_scatter",
            [array, indices, values],
            self.array,
            lambda me: helper(array, const(0), _length(indices), indices, values),
        )

    def _define_split(self, value_type: Any, piece: Callable[[Any, Any, Any], Any], lengths_shape: Any = None) -> None:
        """tensor_array_split(array, value, lengths): rows of a tensor, lengths[i] of them for element i."""
        write = self.get_global_var("tensor_array_write")

        def params() -> tuple[Var, Var, Var]:
            lengths = var("lengths", TensorType(list(lengths_shape or [AnyExtent()]), "int32"))
            return var("tensor_array", self.array), var("value", value_type), lengths

        (array, value, lengths), begin, at, limit = params(), _int("offset"), _int("current"), _int("limit")

        def body(me: Any) -> Any:
            end = op.add(begin, op.take(lengths, at, axis=0))
            rest = me(array, value, end, op.add(at, const(1)), limit, lengths)
            return If(op.equal(at, limit), array, write(rest, at, piece(value, begin, end)))

        helper = self._define("tensor_array_split_helper", [array, value, begin, at, limit, lengths], self.array, body)
        array, value, lengths = params()
        self._define(
            "tensor_array_split",
            [array, value, lengths],
            self.array,
            lambda me: helper(array, value, const(0), const(0), _length(lengths), lengths),
        )

    def _define_unstack(self, canonical: str, tensor_type: Any, wrap: Callable[[Any], Any]) -> None:
        """The rows of a tensor as an array."""
        at, limit, tensor = _int("i"), _int("up"), var("t", tensor_type)

        def body(me: Any) -> Any:
            row = wrap(op.take(tensor, at, axis=0))
            rest = me(op.add(at, const(1)), limit, tensor)
            return If(op.equal(at, limit), self._list("Nil")(), self._list("Cons")(row, rest))

        helper = self._define(canonical + "_helper", [at, limit, tensor], self.array, body)
        whole = var("tensor", tensor_type)
        self._define(canonical, [whole], self.array, lambda me: helper(const(0), _length(whole), whole))

    def _define_gather(self, result: Any) -> None:
        """tensor_array_gather(array, indices): those elements as rows of one tensor."""
        read, stack = self.get_global_var("tensor_array_read"), self.get_global_var("tensor_array_stack")

        def params() -> tuple[Var, Var]:
            return var("tensor_array", self.array), var("indices", TensorType([AnyExtent()], "int32"))

        (array, indices), done, at = params(), var("accu", self.array), _int("current")

        def body(me: Any) -> Any:
            before = op.subtract(at, const(1))
            more = self._list("Cons")(read(array, op.take(indices, before, axis=0)), done)
            return If(op.equal(at, const(0)), stack(done), me(array, more, before, indices))

        helper = self._define("tensor_array_gather_helper", [array, done, at, indices], result, body)
        array, indices = params()
        whole = helper(array, self._list("Nil")(), _length(indices), indices)
        self._define("tensor_array_gather", [array, indices], result, lambda me: whole)


class TensorArrayOps(_ArrayOps):
    """Arrays of tensors of any shape; `register` puts everything into the prelude's module."""

    def get_name(self, canonical: str) -> str:
        return self.prelude.get_name(canonical, self.dtype)

    def _open(self, value: Any, each: Callable[[int, Var], Any], first: int = 0, otherwise: Any = None) -> Match:
        """A match with one clause for each number of dimensions from `first` on."""
        clauses = []
        for rank in range(first, MOST_DIMENSIONS + 1):
            if (result := each(rank, tensor := var(f"tensor{rank}"))) is not None:
                clauses.append(Clause(PatternConstructor(self.get_ctor(f"tensor{rank}"), [PatternVar(tensor)]), result))
        if otherwise is not None:
            clauses.append(Clause(PatternWildcard(), otherwise))
        return Match(value, clauses, False)

    def _tensor(self, rank: int) -> TensorType:
        return TensorType([AnyExtent() for _ in range(rank)], self.dtype)

    def define_tensor_adt(self) -> None:
        """The data type of elements: nothing, or a tensor of up to six dimensions."""
        made = [(f"tensor{rank}", [self._tensor(rank)]) for rank in range(MOST_DIMENSIONS + 1)]
        self._define_type([("tensor_nil", []), *made])

    def _unstack(self, rank: int) -> None:
        name = f"tensor_array_unstack_tensor{rank}"
        self._define_unstack(name, self._tensor(rank), self.get_ctor(f"tensor{rank - 1}"))

    def define_tensor_array_unstack_tensor1(self) -> None:
        """tensor_array_unstack_tensor1(t): the elements of a vector as an array."""
        self._unstack(1)

    def define_tensor_array_unstack_tensor2(self) -> None:
        """The rows of a matrix as an array."""
        self._unstack(2)

    def define_tensor_array_unstack_tensor3(self) -> None:
        """The slices of a tensor of three dimensions as an array."""
        self._unstack(3)

    def define_tensor_array_unstack_tensor4(self) -> None:
        """The slices of a tensor of four dimensions as an array."""
        self._unstack(4)

    def define_tensor_array_unstack_tensor5(self) -> None:
        """The slices of a tensor of five dimensions as an array."""
        self._unstack(5)

    def define_tensor_array_unstack_tensor6(self) -> None:
        """The slices of a tensor of six dimensions as an array."""
        self._unstack(6)

    def define_tensor_array_split(self) -> None:
        """tensor_array_split(array, value, lengths): rows of a tensor, lengths[i] of them for element i."""
        take = self.get_global_var("tensor_take")
        self._define_split(self.element, lambda value, begin, end: take(value, begin, end))

    def define_tensor_array_gather(self) -> None:
        """tensor_array_gather(array, indices): the elements at indices as one tensor."""
        self._define_gather(self.element)

    def register(self) -> None:
        """Everything, in the order in which it is used."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_expand_dims()
        self.define_tensor_concat()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        for rank in range(1, MOST_DIMENSIONS + 1):
            self._unstack(rank)
        self.define_tensor_array_scatter(force_update=True)
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()

    def define_tensor_take(self) -> None:
        """tensor_take(t, lower, upper): rows [lower, upper) of a tensor."""
        value, lower, upper = var("tensor", self.element), _int("lower"), _int("upper")

        def taken(rank: int, t: Var) -> Any:
            return self.get_ctor(f"tensor{rank}")(_slice(t, lower, upper))

        self._define("tensor_take", [value, lower, upper], self.element, lambda me: self._open(value, taken, 1))

    def define_tensor_expand_dims(self) -> None:
        """tensor_expand_dims(t): one row of a tensor of one dimension more."""
        value = var("x", self.element)

        def raised(rank: int, t: Var) -> Any:
            return None if rank == MOST_DIMENSIONS else self.get_ctor(f"tensor{rank + 1}")(op.expand_dims(t, axis=0))

        self._define("tensor_expand_dims", [value], self.element, lambda me: self._open(value, raised))

    def define_tensor_concat(self) -> None:
        """tensor_concatenate(x, y): the rows of both."""
        x, y = var("x", self.element), var("y", self.element)

        def concatenated(rank: int, a: Var) -> Any:
            b, make = var("other"), self.get_ctor(f"tensor{rank}")
            both = make(op.concatenate(Tuple([a, b]), axis=0))
            return Match(y, [Clause(PatternConstructor(make, [PatternVar(b)]), both)], False)

        self._define("tensor_concatenate", [x, y], self.element, lambda me: self._open(x, concatenated, 1))

    def define_tensor_array_concat(self) -> None:
        """tensor_array_concat(array): the rows of all elements as one tensor."""
        array, head, tail = var("tensor_array", self.array), var("hd"), var("tl")
        concat = self.get_global_var("tensor_concatenate")
        cons, nil = self._list("Cons"), self._list("Nil")

        def body(me: Any) -> Any:
            rest = Match(
                tail,
                [Clause(PatternConstructor(nil, []), head), Clause(PatternWildcard(), concat(head, me(tail)))],
                False,
            )
            some = Clause(PatternConstructor(cons, [PatternVar(head), PatternVar(tail)]), rest)
            return Match(array, [some, Clause(PatternConstructor(nil, []), self.get_ctor("tensor_nil")())], False)

        self._define("tensor_array_concat", [array], self.element, body)

    def define_tensor_array_stack(self) -> None:
        """tensor_array_stack(array): the elements as rows of one tensor."""
        array = var("tensor_array", self.array)
        raise_each, concat = self.get_global_var("tensor_expand_dims"), self.get_global_var("tensor_array_concat")
        self._define(
            "tensor_array_stack", [array], self.element, lambda me: concat(self._library("map")(raise_each, array))
        )


class StaticTensorArrayOps(_ArrayOps):
    """Arrays of tensors of one shape; `register` puts everything into the prelude's module.

    Stacked, concatenated, split and unstacked tensors have `Any` rows, or `batch_dim` where it is given.
    """

    def __init__(self, prelude: Prelude, dtype: str, shape: Sequence[Any], batch_dim: int | None = None):
        super().__init__(prelude, dtype)
        self.shape = list(shape)
        self.batch_dim = batch_dim

    def get_name(self, canonical: str, extra_shapes: Any = None) -> str:
        """The name of the version of a function or type; `extra_shapes` tell versions of one shape apart."""
        name = self.prelude.get_name_static(canonical, self.dtype, self.shape, self.batch_dim)
        return name + "".join(f"_{'_'.join(map(str, shape))}" for shape in extra_shapes or [])

    def define_tensor_adt(self) -> None:
        """The data type of elements: nothing, or a tensor of the shape."""
        self._define_type([("tensor_nil", []), ("tensor_constructor", [TensorType(self.shape, self.dtype)])])

    def _with_shape(self, shape: list[Any]) -> StaticTensorArrayOps:
        """The data type of tensors of another shape."""
        out = StaticTensorArrayOps(self.prelude, self.dtype, shape, self.batch_dim)
        out.define_tensor_adt()
        return out

    def define_tensor_take(self) -> None:
        """tensor_take(t, lower, upper): rows [lower, upper) of an element."""
        if not self.shape:
            return
        result = self._with_shape([AnyExtent(), *self.shape[1:]])
        value, lower, upper = var("tensor", self.element), _int("lower"), _int("upper")

        def taken(tensor: Var) -> Any:
            return result.get_ctor("tensor_constructor")(_slice(tensor, lower, upper))

        self._define("tensor_take", [value, lower, upper], result.element, lambda me: self._data(value, taken))

    def define_tensor_expand_dims(self) -> None:
        """tensor_expand_dims(t): an element as one row of a tensor of one dimension more."""
        result = self._with_shape([1, *self.shape])
        value = var("x", self.element)

        def raised(tensor: Var) -> Any:
            return result.get_ctor("tensor_constructor")(self._as_row(tensor))

        self._define("tensor_expand_dims", [value], result.element, lambda me: self._data(value, raised))

    def define_tensor_concatenate(self) -> None:
        """tensor_concatenate(x, y): the rows of both."""
        if not self.shape:
            return
        result = self._with_shape([AnyExtent(), *self.shape[1:]])
        x, y = var("x", self.element), var("y", self.element)

        def both(a: Var) -> Any:
            make = result.get_ctor("tensor_constructor")
            return self._data(y, lambda b: make(op.concatenate(Tuple([a, b]), axis=0)))

        self._define("tensor_concatenate", [x, y], result.element, lambda me: self._data(x, both))

    def define_tensor_array_unstack(self) -> None:
        """tensor_array_unstack(t): the slices of a tensor as an array."""
        rows = AnyExtent() if self.batch_dim is None else self.batch_dim
        many = TensorType([rows, *self.shape], self.dtype)
        self._define_unstack("tensor_array_unstack", many, self.get_ctor("tensor_constructor"))

    def define_tensor_array_split(
        self, value_shape: Any = None, lengths_shape: Any = None, force_update: bool = False
    ) -> None:
        """tensor_array_split(array, value, lengths): rows of a tensor, lengths[i] of them for element i."""
        if not self.shape or (not force_update and self.is_cached(self.get_name("tensor_array_split"))):
            return
        whole = TensorType(list(value_shape or [AnyExtent(), *self.shape[1:]]), self.dtype)
        make = self.get_ctor("tensor_constructor")
        self._define_split(whole, lambda value, begin, end: make(_slice(value, begin, end)), lengths_shape)

    def define_tensor_array_concat(self) -> None:
        """tensor_array_concat(array): the rows of all elements as one tensor."""
        if self.shape:
            whole = TensorType([AnyExtent(), *self.shape[1:]], self.dtype)
            self._define_concat("tensor_array_concat", whole, lambda t: t)

    def define_tensor_array_stack(self) -> None:
        """tensor_array_stack(array): the elements as rows of one tensor."""
        self._define_concat("tensor_array_stack", TensorType([AnyExtent(), *self.shape], self.dtype), self._as_row)

    def define_tensor_array_gather(self) -> None:
        """tensor_array_gather(array, indices): the elements at indices as one tensor."""
        self._define_gather(TensorType([AnyExtent(), *self.shape], self.dtype))

    def register(self) -> None:
        """Everything, in the order in which it is used."""
        self.define_tensor_adt()
        self.define_tensor_get_data()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        self.define_tensor_array_unstack()
        self.define_tensor_array_scatter(force_update=True)
        if self.shape and isinstance(self.shape[0], AnyExtent):
            self.define_tensor_array_split(force_update=True)
            self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()

    @staticmethod
    def _as_row(tensor: Any) -> Any:
        return op.expand_dims(tensor, axis=0)

    def _data(self, value: Any, use: Callable[[Var], Any]) -> Match:
        tensor = var("data")
        made = PatternConstructor(self.get_ctor("tensor_constructor"), [PatternVar(tensor)])
        return Match(value, [Clause(made, use(tensor))], False)

    def define_tensor_get_data(self) -> None:
        """tensor_get_data(t): the tensor of an element."""
        value = var("x", self.element)
        result = TensorType(self.shape, self.dtype)
        self._define("tensor_get_data", [value], result, lambda me: self._data(value, lambda tensor: tensor))

    def _define_concat(self, canonical: str, result: Any, rows: Callable[[Any], Any]) -> None:
        """The rows of all elements of an array, which must have some, as one tensor."""
        array, head, tail = var("tensor_array", self.array), var("hd"), var("tl")
        cons, nil = self._list("Cons"), self._list("Nil")

        def body(me: Any) -> Any:
            def concatenated(tensor: Var) -> Any:
                more = op.concatenate(Tuple([rows(tensor), me(tail)]), axis=0)
                ends = [Clause(PatternConstructor(nil, []), rows(tensor)), Clause(PatternWildcard(), more)]
                return Match(tail, ends, False)

            some = PatternConstructor(cons, [PatternVar(head), PatternVar(tail)])
            return Match(array, [Clause(some, self._data(head, concatenated))], False)

        self._define(canonical, [array], result, body)

"""One of the kinds that the core lists, with its options: what executors and runtimes have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._ffi.registry import get_global_func
from ...ir import structural_equal, structural_hash
from ...runtime.object import Object


class Choice(Object):
    """A kind by name, and options by name."""

    _what: ClassVar[str]  # "Executor", as the core's functions spell it

    def __init__(self, name: str, options: dict[str, Any] | None = None):
        create = get_global_func(f"relay.backend.Create{self._what}")
        self.__init_handle_by_constructor__(create, name, options or {})

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(structural_equal(self, other))

    def __hash__(self) -> int:
        return structural_hash(self)

    @classmethod
    def list_registered(cls) -> list[str]:
        """The kinds there are."""
        return [str(name) for name in get_global_func(f"relay.backend.List{cls._what}s")()]

    @classmethod
    def _options(cls, kind: Any) -> dict[str, str]:
        """The options of a kind, and the types of their values."""
        name = kind.name if isinstance(kind, Choice) else kind
        found = get_global_func(f"relay.backend.List{cls._what}Options")(str(name))
        return {str(option): str(value_type) for option, value_type in found.items()}

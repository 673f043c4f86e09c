"""An attribute of an operator, replaced for a while."""

from __future__ import annotations

from typing import Any

from ...ir import Op

__all__ = ["TempOpAttr"]


class TempOpAttr:
    """Inside the with-statement the operator has another value of an attribute; afterwards the old one, or none.

    with TempOpAttr("nn.relu", "FTVMLegalize", legalize):
        mod = relay.transform.Legalize()(mod)
    """

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        self.op = Op.get(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value
        self.older_attr = self.op.get_attr(attr_key)

    def __enter__(self) -> TempOpAttr:
        self._put(self.attr_value)
        return self

    def __exit__(self, *_: Any) -> None:
        self._put(self.older_attr)

    def _put(self, value: Any) -> None:
        self.op.reset_attr(self.attr_key)
        if value is not None:
            self.op.set_attr(self.attr_key, value)

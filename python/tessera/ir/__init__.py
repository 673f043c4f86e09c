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

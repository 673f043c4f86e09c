"""Arguments checked against annotations."""

from typing import Callable, Dict, List, Optional, Tuple, Union  # noqa: UP035 (as v0.10 programs write them)

import pytest
from tessera.tir.schedule._type_checker import type_checked

RIGHT = [
    (int, 5),
    (float, 5),
    (str, "a"),
    (List[int], [1, 2]),  # noqa: UP006
    (List[int], (1, 2)),  # noqa: UP006
    (Tuple[int, str], (1, "a")),  # noqa: UP006
    (Tuple[int, ...], (1, 2, 3)),  # noqa: UP006
    (Union[str, int], 3),
    (Optional[List[str]], None),  # noqa: UP006
    (Callable, len),
    (Callable[[int], int], len),
    (Dict[str, int], {"a": 1}),  # noqa: UP006
]
WRONG = [
    (int, "5", '"x" has type "str", which is not "int"'),
    (List[int], [1, "a"], r'"x\[1\]" has type "str", which is not "int"'),  # noqa: UP006
    (List[int], 5, 'not "List\\[int\\]"'),  # noqa: UP006
    (Tuple[int, str], (1, 2), r'"x\[1\]" has type "int", which is not "str"'),  # noqa: UP006
    (Union[str, int], 3.0, 'not "Union\\[str, int\\]"'),
    (Optional[int], "a", 'not "Optional\\[int\\]"'),
    (Callable, 3, 'not "Callable"'),
    (Dict[str, int], {"a": "b"}, r"\"x\['a'\]\" has type \"str\""),  # noqa: UP006
]


def checked(kind):
    def func(x):
        return x

    func.__annotations__ = {"x": kind}
    return type_checked(func)


@pytest.mark.parametrize("kind, value", RIGHT)
def test_a_value_of_the_annotated_type_is_taken(kind, value):
    assert checked(kind)(value) == value


@pytest.mark.parametrize("kind, value, words", WRONG)
def test_another_value_is_a_type_error_that_names_it(kind, value, words):
    with pytest.raises(TypeError, match=words):
        checked(kind)(value)

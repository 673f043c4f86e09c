"""Tags that schedules and fusion look at."""

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """True when each output element depends on at most one element of each input, broadcast allowed."""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag: str) -> bool:
    """True when each output element depends on at most one element of each input."""
    return is_broadcast(tag) or tag == INJECTIVE or tag.startswith(INJECTIVE)

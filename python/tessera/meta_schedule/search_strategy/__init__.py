"""Search strategies: what to measure next."""

from .search_strategy import MeasureCandidate, PySearchStrategy, SearchStrategy, create
from .strategies import EvolutionarySearch, ReplayFunc, ReplayTrace

__all__ = [
    "EvolutionarySearch",
    "MeasureCandidate",
    "PySearchStrategy",
    "ReplayFunc",
    "ReplayTrace",
    "SearchStrategy",
    "create",
]

"""Libraries with threads of their own, kept to one: chunks go to threads where that pays, and two pools of threads fight."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Literal, cast

from threadpoolctl import ThreadpoolController

from choral.phases import to_the_end


@lru_cache(maxsize=1)
def _found(modules: int) -> ThreadpoolController:
    """The libraries that are loaded. To look for them takes milliseconds, so it is done again only after an import.

    The system calls back with each of them, and an interrupt in there would be lost: it waits.
    """
    with to_the_end():
        return ThreadpoolController()


def one_thread(of: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """For the time of a `with`, one thread for each library of this kind that is loaded.

    >>> from threadpoolctl import threadpool_info
    >>> with one_thread("blas"):
    ...     {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"} <= {1}
    True
    """
    return cast(AbstractContextManager[Any], _found(len(sys.modules)).limit(limits=1, user_api=of))

"""Matrix products run on one thread each, in whatever thread they are computed."""

import threading

import scipy.linalg  # noqa: F401  its BLAS is there before limits are set
from threadpoolctl import threadpool_info, threadpool_limits

from timesurf.engines.cpu.threads import one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(20)


def test_products_in_a_second_thread_are_limited_as_those_in_the_first():
    """As on the live page: what is shown is computed in another thread than what was trained before."""
    seen = []

    def other():
        with one_blas_thread():
            seen.append(blas_threads())
        seen.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        in_a_thread(other)
        assert seen == [{1}, {2}]


def test_the_last_to_leave_restores_what_there_was_whoever_came_first():
    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        in_a_thread(first.__enter__)
        second.__enter__()
        second.__exit__(None, None, None)
        assert blas_threads() == {1}
        first.__exit__(None, None, None)
        assert blas_threads() == {2}

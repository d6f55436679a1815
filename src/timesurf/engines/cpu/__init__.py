"""The CPU engine: numba kernels on all cores."""

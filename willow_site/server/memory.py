"""What a broker does with memory that it no longer needs: it gives it back."""

import ctypes

M_MMAP_THRESHOLD = -3  # of mallopt in the C library of GNU
LARGE_BYTES = 128 * 1024  # what it begins with; it takes more and more for small, the larger what was freed


def give_back_what_is_large() -> None:
    """Large bodies come and go. Between smaller things on the heap, their room would stay with the process."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)

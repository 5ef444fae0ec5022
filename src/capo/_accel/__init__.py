"""Speed: threads, buffers, and loops that Numba compiles."""

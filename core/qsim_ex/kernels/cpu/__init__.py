"""CPU kernels in Numba.

The way of a sweep: ``layout`` orders its items and says which bits are lanes, ``items`` splits matrices,
``writer`` turns all of it into arrays of integers whose form ``encoding`` describes, and ``sweep`` interprets them tile
by tile with the vector operations in ``emit``, ``rows`` and ``vectors``. Beside it, ``blocks`` moves amplitudes between
memory and matrices, ``passes`` plans permutations of bits, ``sums`` holds every sum and the search for a shot,
``philox`` the random numbers, ``pool`` the threads. Importing this package does not import Numba.
"""

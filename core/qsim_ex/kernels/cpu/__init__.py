"""CPU kernels in Numba.

A sweep's way through: ``layout`` orders its items and says which bits are lanes, ``items`` takes matrices apart,
``writer`` turns all of it into arrays of integers whose form ``program`` describes, and ``sweep``
interprets them tile by tile with the vector operations in ``emit``, ``rows`` and ``vectors``. Beside it, ``blocks``
moves amplitudes between memory and matrices, ``passes`` plans permutations of bits, ``sums`` holds every sum and
the search for a shot, ``pool`` the threads, ``host`` what is known of the processor, ``cache`` the folder of compiled
kernels. Importing this package does not import Numba.
"""

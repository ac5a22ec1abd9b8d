"""CPU kernels in Numba.

``host`` says how wide the vectors of this processor are, ``encode`` turns a sweep into arrays of integers,
``vectors`` holds the vector operations, ``sweep`` interprets an encoded sweep tile by tile, ``blocks`` moves
amplitudes between memory and matrices, ``sums`` holds every sum of products, ``pool`` the threads, ``cache`` the
folder of compiled kernels. Importing this package does not import Numba.
"""

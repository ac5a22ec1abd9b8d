"""CPU kernels: the Python side of `core/native`.

The way of a sweep: ``layout`` orders its items and says which bits are lanes, ``items`` splits matrices,
``writer`` turns all of it into arrays of integers whose form ``encoding`` describes, and ``sweep`` has them interpreted
tile by tile. Beside it, ``blocks`` moves amplitudes between memory and matrices, ``copies`` copies them, ``passes``
plans permutations of bits, ``shots`` makes random numbers and finds where they fall, ``trajectories`` runs whole noisy
circuits of a few wires, ``pool`` has the threads.
"""

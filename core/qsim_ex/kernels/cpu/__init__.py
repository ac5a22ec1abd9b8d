"""CPU kernels: the Python side of `core/native`.

The way of a sweep: ``encode`` goes through its items, which ``layout`` puts in order; ``items`` splits matrices, and
``writer`` turns all of it into arrays of integers whose form ``encoding`` describes. ``sweep`` has them interpreted
tile by tile. Beside it, ``blocks`` moves amplitudes between memory and matrices, ``copies`` copies them, ``passes``
plans permutations of bits, ``shots`` makes random numbers and finds where they fall, ``trajectories`` runs whole noisy
circuits of a few wires, ``pool`` has the threads.
"""

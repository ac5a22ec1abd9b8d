"""Mutants: small changes of the product, each of which some test has to notice.

    python -m tools.mutants --python 400 --cpp 200 --seed 7    # goes on where it was interrupted
    python -m tools.mutants --python 400 --cpp 200 --seed 7    # once more: the table

Mutants of Python are made by cosmic-ray's operators (`python.py`), those of C++ by ours (`cpp.py`). `reach.py` runs a
sample of the tests once and notes which lines each of them reaches; a mutant gets the tests that reach its line, the
nearest first (`runner.py`), until one fails. One that none tells apart survives. `equivalent.py` lists those that
nothing can tell apart, each with the reason.
"""

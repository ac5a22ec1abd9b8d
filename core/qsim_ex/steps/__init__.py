"""The plan as data: planning writes it, placements and devices read it, and nothing below planning knows gates.

Everything between `Plan.start` and `Plan.end` is in **index bits** (bit 0 is the least significant bit of an
amplitude's index); wires appear only in those two layouts. Structure is here, numbers are not: a plan says where a
number will stand, and `planning.coefficients.binding.bind` fills it in.

The classes of a plan can be imported from here, for users who inspect one (see `Simulator.plans`). The engine itself
imports each name from its file.
"""

from __future__ import annotations

from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product
from qsim_ex.steps.index_map import IndexMap
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Exchange, Migration, Motion, Plan, Stage
from qsim_ex.steps.step import (
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Permute,
    RegisterBlock,
    Slot,
    Step,
    Sweep,
    ZeroFill,
)

__all__ = [
    "BasisPermutation",
    "Coefficients",
    "DenseMatrix",
    "Diagonal",
    "Euler",
    "Exchange",
    "Fold",
    "IndexMap",
    "InitialAmplitudes",
    "Item",
    "Layout",
    "Levels",
    "Migration",
    "Mix",
    "Motion",
    "Permute",
    "Plan",
    "Product",
    "RegisterBlock",
    "Shape",
    "Slot",
    "Stage",
    "Step",
    "Sweep",
    "ZeroFill",
]

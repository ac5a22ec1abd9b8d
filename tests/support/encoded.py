"""The instructions of an encoded sweep, in the form that core/native/kernels/encoding.hpp gives them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from qsim_ex.kernels.cpu.encoded_plan import NUM_INSTRUCTIONS, EncodedPlan
from qsim_ex.steps.compiled import PlannedSweep
from qsim_ex.steps.plan_arrays import Memory
from qsim_ex.steps.sweep_arrays import SweepArrays

HEADER = re.sub(r"//.*", "", Path(__file__).parents[2].joinpath("core/native/kernels/encoding.hpp").read_text("utf-8"))
TYPES = {"Int": "i8", "Half": "i4", "std::int16_t": "i2", "Kind": "i2"}


def body(head):
    """What stands between the braces behind `head`."""
    return re.search(re.escape(head) + r" \{(.*?)\};", HEADER, re.DOTALL)[1]


KINDS = re.findall(r"\w+", body("enum class Kind : std::int16_t"))
MEMBERS = re.findall(r"([\w:]+) (\w+)(?:\[(\d+)\])?;", body("struct Instruction"))
INSTRUCTION = np.dtype([(name, TYPES[kind], int(count or 1)) for kind, name, count in MEMBERS])


def instructions(sweep, num_bits, lane_bits=4, real_bytes=4):
    """The instructions of a sweep, of a plan or alone."""
    arrays = getattr(sweep, "arrays", None)
    planned = isinstance(sweep, PlannedSweep) and arrays is not None
    encoded = EncodedPlan(arrays if planned else SweepArrays([sweep]), num_bits, lane_bits, real_bytes)
    words = encoded.words(sweep.number if planned else 0)
    size = int(words[NUM_INSTRUCTIONS]) * INSTRUCTION.itemsize
    return Memory(encoded, int(words[0]), size, "u1").array().view(INSTRUCTION)


def kinds(sweep, num_bits, lane_bits=4, real_bytes=4):
    """The names of the instructions' kinds."""
    return [KINDS[int(kind)] for kind in instructions(sweep, num_bits, lane_bits, real_bytes)["kind"].ravel()]

"""The host's part of a run on a GPU, compiled: it evaluates a plan's number program and queues all kernels.

Python and NumPy need some microseconds for each launch and each instruction, several times as many where other work has
pushed them out of the processor's caches; a state of 20 wires is done sooner. `run_words` has the form of the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from qsim_ex.kernels import fork
from qsim_ex.kernels.cuda.launch import run_words as form
from qsim_ex.kernels.numba_cache import kernel, part

_TINY = 1e-300

_I32, _I64 = ir.IntType(32), ir.IntType(64)


@intrinsic
def _launch(_, driver, function, blocks, threads, stream, pointers):
    """Call the function at the address `driver`, which has the signature of `cuLaunchKernel`."""

    def code(_, builder, __, arguments):
        driver, function, blocks, threads, stream, pointers = arguments
        kinds = [_I64, *[_I32] * 7, *[_I64] * 3]
        called = builder.inttoptr(driver, ir.FunctionType(_I32, kinds).as_pointer())
        one, none, nowhere = ir.Constant(_I32, 1), ir.Constant(_I32, 0), ir.Constant(_I64, 0)
        blocks, threads = builder.trunc(blocks, _I32), builder.trunc(threads, _I32)
        return builder.call(called, [function, blocks, one, one, threads, one, one, none, stream, pointers, nowhere])

    return types.int32(driver, function, blocks, threads, stream, pointers), code


@part
def _call(driver, function, blocks, threads, stream, pointers):
    """Launch a kernel; return the driver's status."""
    return _launch(driver, function, blocks, threads, stream, pointers)  # type: ignore[call-arg]  # Numba adds the first


@part
def _products(room, places, first, count, terms):
    """Compute entries of products of matrices, each a sum of products of two numbers."""
    at = first
    for _ in range(count):
        to = 2 * places[at]
        at += 1
        x = y = 0.0
        for _ in range(terms):
            left, right = 2 * places[at], 2 * places[at + 1]
            a, b, c, d = room[left], room[left + 1], room[right], room[right + 1]
            x += a * c - b * d
            y += a * d + b * c
            at += 2
        room[to], room[to + 1] = x, y


@part
def _phase(a):
    """Return the phase of a number; that of 0 is 1."""
    size = math.hypot(a.real, a.imag)
    return complex(1.0, 0.0) if size < _TINY else complex(a.real / size, a.imag / size)


@part
def _eulers(numbers, places, first, count):
    """Compute Euler angles of unitary 2×2 matrices; see `steps.Euler`. `planning.numbers.binding` has the reasons."""
    for at in range(first, first + 5 * count, 5):
        a, b, c, d = numbers[places[at]], numbers[places[at + 1]], numbers[places[at + 2]], numbers[places[at + 3]]
        cosine, sine = math.hypot(a.real, a.imag), math.hypot(c.real, c.imag)
        gamma = _phase(a)
        alpha = _phase(c) * gamma.conjugate()
        beta = _phase(d) * alpha.conjugate() if sine <= cosine else -_phase(b)
        to = places[at + 4]
        numbers[to] = numbers[to + 3] = complex(cosine, 0.0)
        numbers[to + 1], numbers[to + 2] = complex(-sine, 0.0), complex(sine, 0.0)
        numbers[to + 4], numbers[to + 5], numbers[to + 6] = alpha, beta * gamma.conjugate(), gamma


@part
def _product(numbers, places, first, count):
    """Return the product of some numbers."""
    product = complex(1.0, 0.0)
    for k in range(first, first + count):
        product = product * numbers[places[k]]
    return product


@part
def _arguments(words, at, count, slots, room, state, tables):
    """Lay out the arguments of a launch, which begin at `at`; return the address of the pointers to them."""
    begin, values = room.ctypes.data, room[slots:].view(np.int64)
    for k in range(count):
        kind, value = words[at + 2 * k], words[at + 2 * k + 1]
        if kind == form.STATE:
            value += state
        elif kind == form.TABLES:
            value += tables
        values[k] = value
        values[form.MOST_ARGUMENTS + k] = begin + (value if kind == form.STRUCT else 8 * (slots + k))
    return begin + 8 * (slots + form.MOST_ARGUMENTS)


@kernel
def enqueue(driver, stream, state, tables, first, operands, words, places, room):
    """Run `words`, except launches before number `first`; return the driver's status, 0 for success.

    driver: the address of `cuLaunchKernel`. stream: the stream's handle. state, tables: addresses on the device.
    operands: the circuit's, complex128 [total]. words, places, room: see `run_words`; a room is for one run at a time.
    """
    numbers, singles = room.view(np.complex128), room.view(np.float32)
    at, launched = form.HEAD, 0
    while words[at] != form.END:
        kind, a, b, c = words[at], words[at + 1], words[at + 2], words[at + 3]
        if kind == form.LAUNCH:
            count = words[at + 4]
            if launched >= first:
                pointers = _arguments(words, at + 5, count, words[form.SLOTS], room, state, tables)
                status = _call(driver, a, b, c, stream, pointers)
                if status != 0:
                    return status
            launched += 1
            at += 2 * count
        elif kind == form.PRODUCTS:
            _products(room, places, a, b, c)
        elif kind == form.TAKE_SINGLE:
            for k in range(b):
                singles[c + k] = np.float32(room[places[a + k]])
        elif kind == form.TAKE:
            for k in range(b):
                room[c + k] = room[places[a + k]]
        elif kind == form.EULERS:
            _eulers(numbers, places, a, b)
        elif kind == form.ENTRY:
            numbers[a] = _product(numbers, places, b, c)
        else:
            for k in range(a):
                numbers[k] = operands[k]
        at += form.LENGTH[kind]
    return 0


_GIVEN = types.Array(types.complex128, 1, "C", readonly=True)  # accepts writeable arrays as well
_WORDS, _PLACES, _ROOM = (types.Array(kind, 1, "C") for kind in (types.int64, types.int32, types.float64))
_SIGNATURE = types.int64(*[types.int64] * 5, _GIVEN, _WORDS, _PLACES, _ROOM)
_compiling = fork.lock()


def compiled() -> Callable[..., int]:
    """Return `enqueue`, compiled or taken from disk; the first time on a machine it takes seconds."""
    with _compiling:
        if not enqueue.signatures:
            enqueue.compile(_SIGNATURE)
            enqueue.disable_compile()
    found: Callable[..., int] = enqueue
    return found

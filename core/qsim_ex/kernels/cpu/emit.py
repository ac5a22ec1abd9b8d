"""LLVM vector instructions for Numba, written once for every width.

A **row** is one vector of real parts followed by one vector of imaginary parts, in planar scratch memory. A *kind*
is a tuple of L zeros of the real type; its type alone says what to emit: vectors of 2^L float32 or float64.
Addresses and offsets are in bytes. Coefficients are whole vectors, one number for each lane, so that a factor that
depends on lane bits costs no more than one that does not.
"""

from __future__ import annotations

import inspect

from qsim_ex.kernels.interrupts import uninterrupted

with uninterrupted():
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

_I32 = ir.IntType(32)


class VectorEmitter:
    """Writes instructions on vectors of one kind at the position of `builder`."""

    def __init__(self, context, builder, kind):
        self.builder = builder
        self.lanes = 1 << kind.count
        self.element = context.get_value_type(kind.dtype)
        self.element_bytes = kind.dtype.bitwidth // 8
        self.bytes = self.lanes * self.element_bytes
        self.vector = ir.VectorType(self.element, self.lanes)
        suffix = f"v{self.lanes}f{kind.dtype.bitwidth}"
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        # fmuladd, not fma: the same instruction where there is one, no slow library call where there is none.
        self._fma = cgutils.get_or_insert_function(builder.module, signature, f"llvm.fmuladd.{suffix}")

    def address(self, base, *offsets):
        """Return base + offsets as a pointer."""
        for offset in offsets:
            offset = ir.Constant(ir.IntType(64), offset) if isinstance(offset, int) else offset
            base = self.builder.add(base, offset)
        return self.builder.inttoptr(base, ir.PointerType())

    def load(self, base, *offsets, align=None):
        """Load one vector."""
        return self.builder.load(self.address(base, *offsets), typ=self.vector, align=align or self.bytes)

    def coefficient(self, base, number):
        """Load the vector of coefficient `number`; coefficients are constant while a sweep runs."""
        value = self.load(base, number * self.bytes)
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value

    def splat(self, base, number):
        """Load scalar coefficient `number` into all lanes."""
        pointer = self.address(base, number * self.element_bytes)
        value = self.builder.load(pointer, typ=self.element, align=self.element_bytes)
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(empty, value, ir.Constant(_I32, 0))
        return self.shuffle(first, first, [0] * self.lanes)

    def store(self, value, base, *offsets, align=None):
        """Store one vector."""
        self.builder.store(value, self.address(base, *offsets), align=align or self.bytes)

    def shuffle(self, left, right, lanes):
        """Pick lanes of two vectors; those of `right` count from the number of lanes."""
        mask = ir.Constant(ir.VectorType(_I32, len(lanes)), [ir.Constant(_I32, lane) for lane in lanes])
        return self.builder.shuffle_vector(left, right, mask)

    def mul(self, a, b):
        """Return a·b."""
        return self.builder.fmul(a, b)

    def fma(self, a, b, c):
        """Return a·b + c."""
        return self.builder.call(self._fma, [a, b, c])

    def fms(self, a, b, c):
        """Return c − a·b."""
        return self.builder.call(self._fma, [self.builder.fneg(a), b, c])

    def real_product(self, matrix, vectors):
        """Return matrix · vectors for a square list of real coefficient vectors in row order."""
        size, rows = len(vectors), []
        for r in range(size):
            total = self.mul(matrix[r * size], vectors[0])
            for c in range(1, size):
                total = self.fma(matrix[r * size + c], vectors[c], total)
            rows.append(total)
        return rows

    def complex_product(self, base, vectors, coefficient=None):
        """Return matrix · vectors; coefficients are (real, imaginary) in row order, vectors are pairs."""
        coefficient = coefficient or self.coefficient
        size, rows = len(vectors), []
        for r in range(size):
            real = imag = None
            for c, (x, y) in enumerate(vectors):
                p = coefficient(base, 2 * (r * size + c))
                q = coefficient(base, 2 * (r * size + c) + 1)
                real = self.mul(p, x) if real is None else self.fma(p, x, real)
                imag = self.mul(p, y) if imag is None else self.fma(p, y, imag)
                real = self.fms(q, y, real)
                imag = self.fma(q, x, imag)
            rows.append((real, imag))
        return rows

    def swapped(self, low, high, lane):
        """Exchange lane bit `lane` with the bit that selects one of two vectors."""
        bit, n = 1 << lane, self.lanes
        low_lanes = [i if not i & bit else n + (i ^ bit) for i in range(n)]
        high_lanes = [n + i if i & bit else i ^ bit for i in range(n)]
        return self.shuffle(low, high, low_lanes), self.shuffle(low, high, high_lanes)


def operation(emit):
    """Make ``emit(e, *operands)`` callable from kernels as ``name(kind, *operands)``, which returns nothing."""

    def define(typingctx, kind, *operands):  # noqa: ARG001  (Numba's)
        signature = types.void(kind, *operands)

        def codegen(context, builder, sig, args):
            words = [
                context.cast(builder, value, of, types.int64) for value, of in zip(args[1:], sig.args[1:], strict=True)
            ]
            emit(VectorEmitter(context, builder, kind), *words)
            return context.get_dummy_value()

        return signature, codegen

    # Numba counts operands in the signature, where *operands would be one tuple.
    names = ["typingctx", "kind", *list(inspect.signature(emit).parameters)[1:]]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    setattr(define, "__signature__", inspect.Signature(parameters))  # noqa: B010  (mypy knows no such attribute)
    define.__name__, define.__doc__ = emit.__name__, emit.__doc__
    return intrinsic(define)

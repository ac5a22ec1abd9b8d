"""Layouts that are linear maps over GF(2): CX moves nothing, and a tile is a subspace of directions."""

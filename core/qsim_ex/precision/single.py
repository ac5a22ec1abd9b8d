"""Single precision: an amplitude is two floats."""

from __future__ import annotations

import numpy as np

from qsim_ex.precision.gpu import FittedCosts, LaunchGeometry, TensorCores
from qsim_ex.precision.row import Precision, Tolerances
from qsim_ex.precision.storage import CudaStorage, Storage

SINGLE = Precision(
    name="single",
    storage=Storage(
        dtype=np.dtype(np.complex64),
        real=np.dtype(np.float32),
        cuda=CudaStorage(real="float", amplitude="float2", pair="float4"),
        native_single=True,
    ),
    tolerances=Tolerances(rounding=1e-6, rounding_per_gate=3e-8, same_shots=False),
    geometry=LaunchGeometry(tile_bits=12, threads=256, blocks=3, padded_blocks=4),
    tensor=TensorCores(files=("f16.cu", "reals.cu", "single.cu"), depth=8, loops=2),
    costs=FittedCosts(
        pass_work=88.0,  # 22e12 a second, while 16 bytes are moved at 4e12 a second (one H200)
        counted_work=106.0,  # 28e12 a second, while 16 bytes are moved at 4.24e12 a second
        block_work=40.0,  # fitted to four plans of blocks at 28e12 a second: 0.38 ms for 2^28 amplitudes (one H200)
        exchange_work=8.0,  # this and the next fitted to 383 sweeps of 16 families (one H200)
        permuted_work=6.0,
        permute_work=0.74,  # fitted to 74 plans of 24 families at 28 wires (one H100)
        fewer_lows=0,
        scattered=1.0,
    ),
)

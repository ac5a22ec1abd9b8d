"""Double precision: an amplitude is two doubles."""

from __future__ import annotations

import numpy as np

from qsim_ex.precision.gpu import FittedCosts, LaunchGeometry, TensorCores
from qsim_ex.precision.row import Precision, Tolerances
from qsim_ex.precision.storage import CudaStorage, Storage

DOUBLE = Precision(
    name="double",
    storage=Storage(
        dtype=np.dtype(np.complex128),
        real=np.dtype(np.float64),
        cuda=CudaStorage(real="double", amplitude="double2", pair=None),
        native_single=False,
    ),
    tolerances=Tolerances(rounding=1e-12, rounding_per_gate=0.0, same_shots=True),
    geometry=LaunchGeometry(tile_bits=11, threads=128, blocks=4, padded_blocks=4),
    tensor=TensorCores(files=("f64.cu", "double.cu"), depth=4, loops=1),
    costs=FittedCosts(
        pass_work=100.0,  # 12e12 a second, while 32 bytes are moved at 4e12 a second (one H200)
        counted_work=116.0,  # 15.4e12 a second, while 32 bytes are moved at 4.24e12 a second
        block_work=27.0,  # the same at 15.4e12 a second: 0.47 ms for 2^28 amplitudes (one H200)
        exchange_work=3.0,  # fitted to sweeps of Heisenberg steps; with less for the next the brick took longer
        permuted_work=30.0,
        permute_work=0.74,  # as in single precision
        fewer_lows=2,  # pieces of 64 bytes
        scattered=1.12,  # 0.99 to 1.17, six families (one H200)
    ),
)

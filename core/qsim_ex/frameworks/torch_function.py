"""`torch_function`: expectation values that torch differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.frameworks.differentiated import DifferentiatedSweep
from qsim_ex.frameworks.expectation_function import ExpectationFunction
from qsim_ex.simulator import Simulator

Function = Callable[[torch.Tensor], torch.Tensor]


def torch_function(
    circuit: ParameterSweep | DifferentiatedSweep,
    observables: PauliSum | Sequence[PauliSum],
    simulator: Simulator | None = None,
) -> Function:
    """Return a function from parameters, a tensor [..., parameters], to values [..., observables].

    circuit: a sweep of `ParameterSweepBuilder`, whose columns are the parameters, or a framework's circuit from
    `qsim_ex_provider.differentiated` or `qsim_ex_cirq.differentiated`. Gradients are exact, by adjoint
    differentiation; second derivatives are refused by torch. Values have the dtype and the device of the parameters.
    """
    known = ExpectationFunction.of(circuit, observables, simulator)
    return lambda parameters: _Expectation.apply(parameters, known)


class _Expectation(torch.autograd.Function):
    @staticmethod
    def forward(context: FunctionCtx, parameters: torch.Tensor, known: ExpectationFunction) -> torch.Tensor:
        points = parameters.detach().cpu().numpy()
        like = {"dtype": parameters.dtype, "device": parameters.device}
        context.known = known
        if not context.needs_input_grad[0] or not known.keeps_jacobian:
            context.save_for_backward(parameters)
            return torch.as_tensor(known.values(points), **like)
        values, jacobian = known.values_and_jacobian(points)
        context.save_for_backward(torch.as_tensor(jacobian, **like))
        return torch.as_tensor(values, **like)

    @staticmethod
    @once_differentiable
    def backward(context: FunctionCtx, cotangents: torch.Tensor) -> tuple[torch.Tensor, None]:
        (saved,) = context.saved_tensors
        if context.known.keeps_jacobian:
            return torch.einsum("...o,...op->...p", cotangents, saved), None
        products = context.known.products(saved.detach().cpu().numpy(), cotangents.cpu().numpy())
        return torch.as_tensor(products, dtype=saved.dtype, device=saved.device), None

"""The problems of the matrix products: random factors, what an epilogue needs, and the float64 result of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from pykittens.tile import Kernel
from pykittens.tile.dtypes import DTYPES

from .epilogue import CHOICES
from .problem import Array, Option, Options, Problem, Size, Sizes

M_SIZE = Size("m", 256, "rows of A and C")
N_SIZE = Size("n", 256, "columns of C")
K_SIZE = Size("k", 256, "the length that is summed over")
FLOATS_16 = ("bf16", "f16")
FLOATS_8 = ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")
LAYOUT = Option("layout", ("ABt", "AB"), "B is N x K (ABt) or K x N (AB)", "--layout")
OUT = Option("out", ("bf16", "f16", "f32"), "type of C", "--out-dtype")
EPILOGUE = (
    Option("scales", CHOICES["scales"], "f32 scales of A's rows and B's columns", "--scales"),
    Option("scaling", CHOICES["scaling"], "numbers alpha of A B and beta of the old C", "--scaling"),
    Option("bias", CHOICES["bias"], "a bias for each row or column", "--bias"),
    Option("activation", CHOICES["activation"], "function of each element", "--activation"),
    Option("residual", CHOICES["residual"], "a matrix added last", "--residual"),
)
ALPHA, BETA = np.float32(0.75), np.float32(-1.5)
_STEEPEST = 1.2
"""No activation changes more than this with its argument (GELU: 1.13)."""


def dtype_option(*values: str) -> Option:
    """The choice of the factors' type."""
    return Option("dtype", values, "type of A and B", "--dtype")


class ProductProblem(Problem):
    """C = epilogue(A B) with standard normal inputs, rounded to the input type before both sides see them."""

    def __init__(self, kernel: Kernel, options: tuple[Option, ...], sizes: tuple[Size, ...] = ()) -> None:
        self.kernel = kernel  # type: ignore[misc]
        self.sizes = sizes or (M_SIZE, N_SIZE, K_SIZE)  # type: ignore[misc]
        self.options = options  # type: ignore[misc]

    def bytes(self, sizes: Sizes, options: Options) -> int:
        m, n, k = (sizes[name] for name in "mnk")
        # Inputs: 2 bytes, f32 while they are drawn, f64 for the reference. C: itself, and eight f64 arrays to compare.
        return (m + n) * k * 14 + m * n * (DTYPES[options["out"]].bytes + 8 * 8)

    def tensors(self, sizes: Sizes, options: Options, rng: np.random.Generator) -> dict[str, Array]:
        m, n, k = (sizes[name] for name in "mnk")
        dtype, out = DTYPES[options["dtype"]].numpy, DTYPES[options["out"]].numpy

        def drawn(shape: tuple[int, ...], kind: Any) -> Array:
            return np.asarray(rng.standard_normal(shape, np.float32).astype(kind))

        shapes = {"A": (m, k), "B": (k, n) if _choice(options, "layout") == "AB" else (n, k)}
        found: dict[str, Any] = {name: drawn(shape, dtype) for name, shape in shapes.items()}
        scaling, scales = _choice(options, "scaling"), _choice(options, "scales")
        found["C"] = old_result((m, n)).astype(out) if scaling == "alpha_beta" else np.full((m, n), np.nan, out)
        lengths = {"tensor": (1, 1), "row": (m, None), "col": (None, n), "both": (m, n)}.get(scales, (None, None))
        for name, length in zip(("scale_a", "scale_b"), lengths, strict=True):
            if length is not None:
                found[name] = drawn((length,), np.float32)
        if scaling != "none":
            found["alpha"] = ALPHA
        if scaling == "alpha_beta":
            found["beta"] = BETA
        if _choice(options, "bias") != "none":
            found["bias"] = drawn((m if options["bias"] == "row" else n,), out)
        if _choice(options, "residual") == "add":
            found["R"] = drawn((m, n), out)
        return found

    def expected(self, tensors: Mapping[str, Array], options: Options) -> dict[str, Array]:
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf and 0 x inf are NaN on both sides
            before, _ = _before_activation(tensors, options)
            after = _ACTIVATIONS[_choice(options, "activation")](before)
            return {"C": after + tensors["R"].astype(np.float64) if "R" in tensors else after}

    def allowed(
        self, tensors: Mapping[str, Array], options: Options, expected: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Half a unit in the last place of C, f32 sums whose rounding errors do not all point one way, and a few more
        roundings in the epilogue.
        """
        a, b = _factors(tensors, options)
        out = ml_dtypes.finfo(tensors["C"].dtype)
        # |sum| never exceeds the product of the norms (Cauchy-Schwarz), so neither does any sum on the way.
        accumulation = (4 + np.sqrt(a.shape[1])) * 2.0**-24
        norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) * np.abs(_scale(tensors, options))
        rounding = float(out.eps) / 2 * np.abs(expected["C"]) + float(out.smallest_subnormal) / 2
        if all(_choice(options, name) == "none" for name in CHOICES):
            return {"C": rounding + accumulation * norms}
        with np.errstate(invalid="ignore"):
            before, size = _before_activation(tensors, options)
            size = size + np.abs(before) + 1 + (np.abs(tensors["R"].astype(np.float64)) if "R" in tensors else 0)
        return {"C": rounding + _STEEPEST * accumulation * norms + 2.0**-21 * size}

    def tolerance(self, sizes: Sizes, options: Options) -> float:
        """Rounding of the result; f32 sums lose a little more the longer they are."""
        longer = max(1.0, float(np.sqrt(sizes["k"] / 4096)))
        return {"bf16": 4e-3, "f16": 5e-4, "f32": 1e-6 * longer}[options["out"]]


def _choice(options: Options, name: str) -> str:
    return options.get(name, "none")


def _factors(tensors: Mapping[str, Array], options: Options) -> tuple[Any, Any]:
    """A (M x K) and B (N x K) in float64."""
    a, b = tensors["A"].astype(np.float64), tensors["B"].astype(np.float64)
    return a, b.T if _choice(options, "layout") == "AB" else b


def old_result(shape: tuple[int, int]) -> Array:
    """What C holds before a kernel that reads it: a pattern that every type holds exactly."""
    rows, cols = np.indices(shape)
    return np.asarray(((7 * rows + 3 * cols) % 17 - 8) / 8)


def _scale(tensors: Mapping[str, Array], options: Options) -> Any:
    """What multiplies A B, as an array that broadcasts over C."""
    scale: Any = 1.0
    chosen = _choice(options, "scales")
    if "scale_a" in tensors:
        scale = scale * tensors["scale_a"].astype(np.float64)[:, None]
    if "scale_b" in tensors:
        scale = scale * tensors["scale_b"].astype(np.float64)[None]
    if chosen == "tensor":
        scale = scale[0, 0]
    return scale * float(ALPHA) if _choice(options, "scaling") != "none" else scale


def _before_activation(tensors: Mapping[str, Array], options: Options) -> tuple[Any, Any]:
    """The argument of the activation, and the sum of its parts' magnitudes."""
    a, b = _factors(tensors, options)
    value = a @ b.T * _scale(tensors, options)
    size = np.abs(value)
    if _choice(options, "scaling") == "alpha_beta":
        old = float(BETA) * tensors.get("old", old_result(value.shape))
        value, size = value + old, size + np.abs(old)
    if "bias" in tensors:
        bias = tensors["bias"].astype(np.float64)
        bias = bias[:, None] if options["bias"] == "row" else bias[None]
        value, size = value + bias, size + np.abs(bias)
    return value, size


def _gelu_erf(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.vectorize(math.erf, otypes=[np.float64])(x / math.sqrt(2))))


def _gelu_tanh(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


_ACTIVATIONS: dict[str, Any] = {
    "none": lambda x: x, "relu": lambda x: np.maximum(x, 0), "gelu_tanh": _gelu_tanh, "gelu_erf": _gelu_erf,
    "silu": lambda x: x / (1 + np.exp(-x)),
}  # fmt: skip

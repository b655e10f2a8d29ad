"""What a kernel is tried with: sizes, options, random tensors, a float64 reference, and how near to it is right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pykittens.errors import InputError
from pykittens.tile import Kernel

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int]
Options = Mapping[str, str]


@dataclass(frozen=True)
class Size:
    """A run-time size of the problem. ``name`` is its flag on the command line too: ``-m``, or ``--heads``."""

    name: str
    default: int
    words: str


@dataclass(frozen=True)
class Option:
    """A build-time choice: the kernel's keyword parameter ``name``, its command line ``flag``, and its values."""

    name: str
    values: tuple[str, ...]
    words: str
    flag: str


@dataclass(frozen=True)
class Comparison:
    """A kernel's results beside the reference, over all written tensors together.

    max_abs_error: largest absolute difference; NaN where a result is NaN and should not be.
    rel_fro_error: Frobenius norm of the difference, relative to the reference's. tolerance: what it may be.
    wrong_elements: elements further off than rounding explains; one missing product is seen by this, not by the norm.
    """

    max_abs_error: float
    rel_fro_error: float
    tolerance: float
    wrong_elements: int
    elements: int

    @property
    def passed(self) -> bool:
        return self.wrong_elements == 0 and self.rel_fro_error <= self.tolerance


class Problem(ABC):
    """A kernel with what it takes to try it. `pk run`, the tests and the benchmarks share these; see `problems`."""

    kernel: ClassVar[Kernel]
    sizes: ClassVar[tuple[Size, ...]]
    options: ClassVar[tuple[Option, ...]]

    @abstractmethod
    def bytes(self, sizes: Sizes, options: Options) -> int:
        """Host memory that `tensors`, the launch and `compare` take at their peak, in bytes."""

    @abstractmethod
    def tensors(self, sizes: Sizes, options: Options, rng: np.random.Generator) -> dict[str, Array]:
        """The kernel's tensors by name, in the order of its signature: random inputs, and outputs full of NaN."""

    @abstractmethod
    def expected(self, tensors: Mapping[str, Array], options: Options) -> dict[str, Array]:
        """The written tensors as they should be, in float64, from the inputs' exact values."""

    @abstractmethod
    def allowed(
        self, tensors: Mapping[str, Array], options: Options, expected: Mapping[str, Array]
    ) -> dict[str, Array]:
        """How far each element of a written tensor may be from its expected value."""

    @abstractmethod
    def tolerance(self, sizes: Sizes, options: Options) -> float:
        """The largest relative Frobenius error that is right."""

    @property
    def name(self) -> str:
        return self.kernel.name

    def defaults(self) -> dict[str, str]:
        """The value of every option that nobody chose."""
        known = self.kernel.options()
        return {option.name: known[option.name] for option in self.options}

    def check_options(self, options: Options) -> None:
        """Raise `InputError` for a value that an option does not have."""
        for option in self.options:
            if options[option.name] not in option.values:
                raise InputError(
                    "option-value", f"{self.name} has no {option.flag} {options[option.name]!r}",
                    fix=f"use one of {', '.join(option.values)}",
                )  # fmt: skip

    def check_sizes(self, sizes: Sizes, options: Options, memory: int) -> None:
        """Raise `InputError` for negative sizes, and for sizes that need more than ``memory`` bytes."""
        for size in self.sizes:
            if sizes[size.name] < 0:
                raise InputError("size", f"{size.name} is {sizes[size.name]}, the smallest is 0 ({size.words})")
        need = self.bytes(sizes, options)
        if need > memory:
            listing = ", ".join(f"{size.name}={sizes[size.name]}" for size in self.sizes)
            raise InputError(
                "memory", f"{self.name} with {listing} takes {need} bytes, this machine has {memory}",
                fix="use smaller sizes",
            )  # fmt: skip

    def compare(self, tensors: Mapping[str, Array], sizes: Sizes, options: Options) -> Comparison:
        """The written ``tensors`` beside the reference."""
        expected = self.expected(tensors, options)
        allowed = self.allowed(tensors, options, expected)
        worst, wrong, elements, squares, norm = 0.0, 0, 0, 0.0, 0.0
        for name, reference in expected.items():
            difference = _difference(tensors[name].astype(np.float64), reference)
            margin = np.where(np.isfinite(reference), allowed[name], 0.0)  # infinities and NaN have to be the same
            wrong += int(np.count_nonzero(~(np.abs(difference) <= margin)))
            worst = max(worst, float(np.abs(difference).max(initial=0.0)), key=_nan_is_largest)
            elements += reference.size
            squares += float(np.sum(difference**2))
            norm += float(np.sum(np.where(np.isfinite(reference), reference, 0.0) ** 2))
        error = float(np.sqrt(squares / norm)) if norm else (0.0 if squares == 0 else float("inf"))
        return Comparison(worst, error, self.tolerance(sizes, options), wrong, elements)


def _difference(actual: Array, expected: Array) -> Array:
    """actual - expected; 0 where both are the same infinity or both are NaN."""
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, actual - expected)


def _nan_is_largest(value: float) -> float:
    return float("inf") if np.isnan(value) else value

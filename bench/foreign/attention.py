"""Attention in float64: forward and backward, with grouped heads, masks and sequences of different lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from bench.foreign.case import Array


@dataclass(frozen=True)
class Forward:
    """Results of one sequence: o [queries, heads, d_v], lse [heads, queries] (natural logarithm), p [heads, q, k]."""

    o: Array
    lse: Array
    p: Array


@dataclass(frozen=True)
class Backward:
    """Gradients of one sequence, dk and dv for each query head, and delta [heads, queries], which is an input."""

    dq: Array
    dk: Array
    dv: Array
    delta: Array


def mask(queries: int, keys: int, kind: str | tuple[int, int]) -> Array:
    """What each query sees.

    kind: ``none``; ``top-left`` or ``bottom-right``, where the diagonal of causal masks is; or how many keys to the
    left and to the right of the diagonal from the top left.
    """
    if kind == "none":
        return np.ones((queries, keys), np.bool_)
    right_of = np.arange(keys) - np.arange(queries)[:, None]
    if isinstance(kind, tuple):
        return (right_of >= -kind[0]) & (right_of <= kind[1])
    return right_of <= (keys - queries if kind == "bottom-right" else 0)


def _per_query_head(kv: Array, heads: int) -> Array:
    """[keys, kv heads, d] to [heads, keys, d]."""
    return np.repeat(kv.astype(np.float64), heads // kv.shape[1], 1).transpose(1, 0, 2)


def forward(q: Array, k: Array, v: Array, scale: float, kind: str | tuple[int, int] = "none") -> Forward:
    """q [queries, heads, d], k [keys, kv heads, d], v [keys, kv heads, d_v]. Rows that see nothing: o 0, lse -inf."""
    heads = q.shape[1]
    qs, ks, vs = q.astype(np.float64).transpose(1, 0, 2), _per_query_head(k, heads), _per_query_head(v, heads)
    scores = np.where(mask(len(q), len(k), kind), scale * qs @ ks.transpose(0, 2, 1), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = scores.max(-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
        total = weights.sum(-1, keepdims=True)
        p = np.where(total > 0, weights / total, 0.0)
        lse = np.where(total > 0, top + np.log(total), -np.inf)[..., 0]
    return Forward((p @ vs).transpose(1, 0, 2), lse, p)


def backward(q: Array, k: Array, v: Array, do: Array, scale: float, done: Forward, o: Array) -> Backward:
    """Gradients of what `forward` did. o: its result as it was stored, rounded."""
    heads = q.shape[1]
    qs, dos = (x.astype(np.float64).transpose(1, 0, 2) for x in (q, do))
    ks, vs = _per_query_head(k, heads), _per_query_head(v, heads)
    delta = (dos * o.astype(np.float64).transpose(1, 0, 2)).sum(-1)
    ds = done.p * (dos @ vs.transpose(0, 2, 1) - delta[..., None])
    dq = scale * ds @ ks
    dk = scale * ds.transpose(0, 2, 1) @ qs
    dv = done.p.transpose(0, 2, 1) @ dos
    return Backward(*(x.transpose(1, 0, 2) for x in (dq, dk, dv)), delta)

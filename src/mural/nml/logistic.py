"""Exact CNML for (multinomial) logistic regression: Newton's method to convergence for every query and label.

The model is p(y|x) ∝ exp(f(x)·w_y) with f(x) = (x, 1), or features of the user's, and the objective

    Σᵢ rᵢ ℓ(xᵢ, yᵢ) + ℓ(x_q, y) + ½ l2 ‖W‖²,

which is strictly convex for l2 > 0 (intercepts included): the optimum is unique, exists for one-class and for
separable data, and a small gradient proves that it was found. All problems are solved side by side in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHUNK_BYTES = 2**26


@dataclass(frozen=True)
class Logistic:
    """D for the logistic model: features with a column of ones [n, m], one-hot labels [n, k], counts [n]."""

    f: Floats
    y: Floats
    represents: Floats
    l2: float
    tol: float = 1e-8
    max_iter: int = 100

    def fit(self) -> tuple[Floats, bool, int]:
        """Maximum likelihood on D itself: weights [m, k], whether the gradient met `tol`, and the steps it took."""
        m, k = self.f.shape[1], self.y.shape[1]
        none = np.zeros((1, m)), np.zeros((1, k)), np.zeros(1)
        w, converged, steps = self._newton(np.zeros((1, m, k)), *none)
        return w[0], bool(converged[0]), steps

    def log_likelihoods(self, start: Floats, f_query: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """log p_{θ_y}(y|x) [q, k] at queries [q, m], from Newton started at `start`, and which of them converged."""
        (n, m), k = self.f.shape, self.y.shape[1]
        q = len(f_query)
        out, converged = np.empty((q, k)), np.empty((q, k), dtype=bool)
        per_problem = 8 * (n * k * (k + 3) + 2 * (m * k) ** 2)
        chunk = max(1, int(CHUNK_BYTES / (k * per_problem)))
        for i in range(0, q, chunk):
            part = f_query[i : i + chunk]
            fq = np.repeat(part, k, axis=0)
            yq = np.tile(np.eye(k), (len(part), 1))
            w, ok, _ = self._newton(np.broadcast_to(start, (len(fq), m, k)), fq, yq, np.ones(len(fq)))
            log_p = log_softmax(np.einsum("bm,bmk->bk", fq, w))
            out[i : i + chunk] = (log_p * yq).sum(-1).reshape(-1, k)
            converged[i : i + chunk] = ok.reshape(-1, k)
        return out, converged

    def _objective(self, w: Floats, fq: Floats, yq: Floats, wq: Floats) -> tuple[Floats, Floats, Floats]:
        """Objective [b] and the probabilities at D [b, n, k] and at the query [b, k], for weights [b, m, k]."""
        log_p = log_softmax(np.matmul(self.f[None], w))
        log_pq = log_softmax(np.einsum("bm,bmk->bk", fq, w))
        loss = -np.einsum("bnk,nk,n->b", log_p, self.y, self.represents, optimize=True)
        loss = loss - wq * (log_pq * yq).sum(-1) + 0.5 * self.l2 * (w**2).sum((1, 2))
        return loss, np.exp(log_p), np.exp(log_pq)

    def _newton(self, start: Floats, fq: Floats, yq: Floats, wq: Floats) -> tuple[Floats, NDArray[np.bool_], int]:
        """Damped Newton on all problems at once; a problem that has converged is left alone."""
        w = np.array(start, dtype=float)
        b, m, k = w.shape
        rows, columns = np.triu_indices(m)
        outer_f = self.f[:, rows] * self.f[:, columns]  # of the symmetric products each one once
        converged = np.zeros(b, dtype=bool)
        scale = 1 + np.abs(self.f).max(initial=0) * max(1.0, self.represents.sum())
        steps = 0
        while steps < self.max_iter:
            steps += 1
            loss, p, pq = self._objective(w, fq, yq, wq)
            gradient = np.matmul(self.f.T[None], (p - self.y) * self.represents[:, None])
            gradient += np.einsum("bm,bk,b->bmk", fq, pq - yq, wq) + self.l2 * w
            converged = np.abs(gradient).max((1, 2)) <= self.tol * scale
            if converged.all():
                break
            live = ~converged
            hessian = self._hessian(p[live], pq[live], fq[live], wq[live], outer_f)
            flat = gradient[live].reshape(-1, m * k, 1)
            step = np.linalg.solve(hessian, flat).reshape(-1, m, k)
            slope = (gradient[live] * step).sum((1, 2))
            w[live] = self._line_search(w[live], step, slope, loss[live], fq[live], yq[live], wq[live])
        return w, converged, steps

    def _hessian(self, p: Floats, pq: Floats, fq: Floats, wq: Floats, outer_f: Floats) -> Floats:
        """Σᵢ rᵢ (fᵢfᵢᵀ) ⊗ (diag pᵢ − pᵢpᵢᵀ) + the query's term + l2·I, as [b, mk, mk]."""
        b, _, k = p.shape
        m = fq.shape[1]
        of_label = np.ascontiguousarray(np.moveaxis(p, -1, 0))
        counted = of_label * self.represents
        rows, columns = np.triu_indices(m)
        hessian = np.empty((b, m, k, m, k))
        block = np.empty((b, m, m))
        for c in range(k):
            for d in range(c, k):
                halves = (counted[c] * ((c == d) - of_label[d])) @ outer_f
                block[:, rows, columns] = block[:, columns, rows] = halves
                at_query = pq[:, c] * ((c == d) - pq[:, d]) * wq
                block += at_query[:, None, None] * fq[:, :, None] * fq[:, None, :]
                hessian[:, :, c, :, d] = hessian[:, :, d, :, c] = block
        return hessian.reshape(b, m * k, m * k) + self.l2 * np.eye(m * k)

    def _line_search(
        self, w: Floats, step: Floats, slope: Floats, loss: Floats, fq: Floats, yq: Floats, wq: Floats
    ) -> Floats:
        """Halve each problem's step until its objective falls enough; a fall below rounding counts as enough."""
        size = np.ones(len(w))
        rounding = 1e-12 * (1 + np.abs(loss))
        for _ in range(40):
            new = w - size[:, None, None] * step
            bad = self._objective(new, fq, yq, wq)[0] > loss - 1e-4 * size * slope + rounding
            if not bad.any():
                break
            size[bad] /= 2
        return w - size[:, None, None] * step


def log_softmax(z: Floats) -> Floats:
    """Logarithm of the softmax over the last axis, safe for logits of any size."""
    z = z - z.max(-1, keepdims=True)
    return np.asarray(z - np.log(np.exp(z).sum(-1, keepdims=True)))

"""Laws of the spreads: every fast path equals the formula written out with dense factors."""

import numpy as np
import pytest

from robustsvm.norms import conjugate_exponent, dual_directions, into_unit_ball, row_norms
from robustsvm.spreads import KINDS
from tests.cases import NORMS, SPREADS, case_id, make_points, pairs


def test_every_kind_of_spread_is_tested():
    assert {make_points(kind)[0].spread.kind for kind in SPREADS} == set(KINDS)


@pytest.mark.parametrize("p", NORMS)
def test_dual_norm_is_attained_and_never_exceeded(p):
    rng = np.random.default_rng(0)
    q = conjugate_exponent(p)
    U = np.concatenate(
        [rng.normal(size=(50, 4)) * 10.0 ** rng.uniform(-100, 100, (50, 1)), np.zeros((1, 4)), np.eye(4)]
    )
    E = dual_directions(U, q)
    assert (row_norms(E, p) <= 1 + 1e-12).all()
    np.testing.assert_allclose(np.einsum("ij,ij->i", E, U), row_norms(U, q), rtol=1e-12)
    others = into_unit_ball(10 * rng.normal(size=(2000, 4)), p)
    assert (row_norms(others, p) <= 1).all()
    assert (others @ U.T <= row_norms(U, q) * (1 + 1e-12)).all()
    np.testing.assert_allclose(row_norms(U, q), [np.linalg.norm(u, q) for u in U], rtol=1e-10)


@pytest.mark.parametrize("kind,p", pairs(), ids=case_id)
class TestEverySpread:
    def setup_case(self, kind, p, **options):
        points, _ = make_points(kind, p, **options)
        rng = np.random.default_rng(5)
        return points, points.spread, points.spread.factor(), rng.normal(size=points.shape[1]), rng

    def test_seen_is_the_dual_norm_of_the_projection(self, kind, p):
        points, spread, A, w, _ = self.setup_case(kind, p)
        np.testing.assert_allclose(
            spread.seen(w, points.q), row_norms(np.einsum("ndr,d->nr", A, w), points.q), rtol=1e-10, atol=1e-14
        )

    def test_no_direction_in_the_unit_ball_reaches_further(self, kind, p):
        points, spread, A, w, rng = self.setup_case(kind, p)
        u = into_unit_ball(5 * rng.normal(size=(500, max(A.shape[2], 1))), p)[:, : A.shape[2]]
        reached = np.einsum("ndr,kr,d->nk", A, u, w)
        assert (reached <= spread.seen(w, points.q)[:, None] * (1 + 1e-12) + 1e-15).all()

    def test_sums_over_atoms_equal_sums_over_points(self, kind, p):
        points, spread, A, w, rng = self.setup_case(kind, p)
        v = rng.random(len(points))
        omega = spread.gather(v)
        E = rng.normal(size=(spread.n_atoms, spread.rank))
        by_point = np.einsum("n,ndr,nr->d", v, A, E[spread.atom_of()])
        np.testing.assert_allclose(spread.lift(omega[:, None] * E), by_point, atol=1e-12)
        e = dual_directions(np.einsum("ndr,d->nr", A, w), points.q)
        aligned = spread.aligned(w, omega, points.q)
        np.testing.assert_allclose(aligned, np.einsum("n,ndr,nr->d", v, A, e), atol=1e-12)
        np.testing.assert_allclose(aligned @ w, v @ spread.seen(w, points.q), rtol=1e-9)

    def test_gather_is_the_adjoint_of_expand(self, kind, p):
        points, spread, _, _, rng = self.setup_case(kind, p)
        t, v = rng.normal(size=spread.n_atoms), rng.normal(size=len(points))
        np.testing.assert_allclose(spread.expand(t) @ v, t @ spread.gather(v), atol=1e-12)
        np.testing.assert_allclose(spread.incidence() @ t, spread.expand(t), atol=1e-14)

    def test_matrix_for_cone_solvers(self, kind, p):
        _, spread, _, w, _ = self.setup_case(kind, p)
        stacked = (spread.projection_matrix() @ w).reshape(spread.n_atoms, spread.rank)
        np.testing.assert_allclose(stacked, spread.project(w), atol=1e-13)

    def test_displacements_attain_what_is_seen(self, kind, p):
        points, spread, _, w, _ = self.setup_case(kind, p)
        moved = spread.displacements(w, points.q)
        np.testing.assert_allclose(moved @ w, spread.seen(w, points.q), rtol=1e-7, atol=1e-13)

    def test_moments(self, kind, p):
        _, spread, A, _, _ = self.setup_case(kind, p)
        covariance = A @ A.transpose(0, 2, 1)
        np.testing.assert_allclose(spread.traces(), np.einsum("ndd->n", covariance), atol=1e-12)
        np.testing.assert_allclose(spread.mean_variances(), np.einsum("ndd->d", covariance) / len(A), atol=1e-12)

    def test_blocks_do_not_change_anything(self, kind, p, monkeypatch):
        points, spread, _, w, rng = self.setup_case(kind, p)
        omega = rng.random(spread.n_atoms)
        whole = spread.seen(w, points.q), spread.aligned(w, omega, points.q), spread.factor(), spread.mean_variances()
        monkeypatch.setattr("robustsvm.blocks.BLOCK_BYTES", 64)
        parts = spread.seen(w, points.q), spread.aligned(w, omega, points.q), spread.factor(), spread.mean_variances()
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-13)


def test_singular_covariance_never_aligns_beyond_the_unit_ball():
    # w almost in the null space: w.T @ cov @ w cancels, and a direction longer than 1 would make a false bound.
    rng = np.random.default_rng(0)
    for _ in range(200):
        f = rng.normal(size=(3, 1))
        points, _ = make_points("full", n=3, d=3)
        points.spread.values = np.repeat((f @ f.T)[None], 3, axis=0)
        w = np.cross(f.ravel(), rng.normal(size=3)) + 1e-9 * rng.normal() * f.ravel()
        aligned = points.spread.aligned(w, np.array([1.0, 0.0, 0.0]), 2.0)
        assert np.linalg.norm(aligned) <= np.linalg.norm(f) * (1 + 1e-12)

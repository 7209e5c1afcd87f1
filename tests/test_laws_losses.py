"""Laws of the losses, per sample and far out, not on sums of mild draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import robustsvm as rs
from robustsvm.losses import LOSSES

EVERY = [rs.losses.Hinge(), rs.losses.WorstCase(gamma=0.0), rs.losses.WorstCase(gamma=2.5), rs.losses.ExpectedHinge()]
M = np.concatenate([[0.0], *(sign * np.logspace(-8, 6, 29) for sign in (-1, 1))])
S = np.concatenate([[0.0], np.logspace(-8, 8, 33)])
GRID_M, GRID_S = (grid.ravel() for grid in np.meshgrid(M, S))


def test_every_registered_loss_is_tested():
    assert {type(loss) for loss in EVERY} == set(LOSSES.values())


@pytest.mark.parametrize("loss", EVERY, ids=repr)
class TestEveryLoss:
    def dual_points(self, loss, count=200):
        rng = np.random.default_rng(0)
        a = np.concatenate([[0.0, 1.0, 1.0, 0.5], rng.random(count), 1 - 10.0 ** -rng.uniform(0, 15, 50)])
        share = np.concatenate([[1.0, 1.0, 0.0, 1.0], rng.choice([0.0, 1.0, 0.5], count + 50)])
        return a, share * loss.largest_v(a)

    def test_value_bounds_every_dual_point_sample_by_sample(self, loss):
        a, v = self.dual_points(loss)
        linear = a[:, None] * GRID_M + v[:, None] * GRID_S
        value = loss.value(GRID_M, GRID_S)
        assert (linear <= value + 1e-13 * (1 + np.abs(GRID_M) + GRID_S)).all()

    def test_slopes_attain_the_value_and_lie_in_the_dual_set(self, loss):
        a, v = loss.slopes(GRID_M, GRID_S)
        assert loss.in_dual_set(a, v).all()
        attained = a * GRID_M + v * GRID_S
        np.testing.assert_allclose(attained, loss.value(GRID_M, GRID_S), atol=1e-15, rtol=1e-12)

    def test_dual_set_rejects_what_lies_outside(self, loss):
        a, v = self.dual_points(loss)
        assert loss.in_dual_set(a, v).all()
        assert not loss.in_dual_set(a, loss.largest_v(a) + 1e-6).any()
        assert not loss.in_dual_set(np.array([-1e-6, 1 + 1e-6]), np.zeros(2)).any()
        assert not loss.in_dual_set(a, np.full_like(a, -1e-6)).any()

    def test_slopes_are_derivatives(self, loss):
        rng = np.random.default_rng(1)
        m, s = rng.normal(size=300), rng.uniform(0.2, 2, 300)
        h = 1e-6
        smooth = np.abs(m + getattr(loss, "gamma", 0.0) * s) > 1e-3  # away from the kink of max(0, .)
        a, v = loss.slopes(m, s)
        by_m = (loss.value(m + h, s) - loss.value(m - h, s)) / (2 * h)
        by_s = (loss.value(m, s + h) - loss.value(m, s - h)) / (2 * h)
        np.testing.assert_allclose(a[smooth], by_m[smooth], atol=1e-8)
        np.testing.assert_allclose(v[smooth], by_s[smooth], atol=1e-8)

    def test_convex_and_nondecreasing_in_the_spread(self, loss):
        rng = np.random.default_rng(2)
        m, s = 3 * rng.normal(size=(2, 4000)), rng.exponential(size=(2, 4000)) * (rng.random((2, 4000)) > 0.1)
        t = rng.random(4000)
        mixed = loss.value(t * m[0] + (1 - t) * m[1], t * s[0] + (1 - t) * s[1])
        assert (mixed <= t * loss.value(m[0], s[0]) + (1 - t) * loss.value(m[1], s[1]) + 1e-14).all()
        assert (loss.value(m[0], s[0] + s[1]) >= loss.value(m[0], s[0]) - 1e-15).all()

    def test_zero_spread_is_exactly_the_hinge(self, loss):
        assert (loss.value(M, np.zeros_like(M)) == np.maximum(M, 0)).all()
        assert (loss.slopes(M, np.zeros_like(M))[0] == (M > 0)).all()

    @pytest.mark.parametrize("mu", [1e-6, 1e-2, 1.0, 100.0])
    def test_smoothed_lies_just_above_and_its_slopes_in_the_dual_set(self, loss, mu):
        value, (smooth, a, v) = loss.value(GRID_M, GRID_S), loss.smoothed(GRID_M, GRID_S, mu)
        # Each is accurate to rounding of its own terms, m + gamma s.
        rounding = 1e-14 * (np.abs(GRID_M) + (1 + getattr(loss, "gamma", 0.0)) * GRID_S)
        assert (smooth >= value - rounding).all()
        assert (smooth <= value + 0.4 * mu + rounding).all()
        assert loss.in_dual_set(a, v).all()

    @pytest.mark.parametrize("mu", [0.1, 1.0])
    def test_smoothed_slopes_are_derivatives(self, loss, mu):
        rng = np.random.default_rng(3)
        m, s = rng.normal(size=300), rng.uniform(0.2, 2, 300)
        h = 1e-5
        _, a, v = loss.smoothed(m, s, mu)
        np.testing.assert_allclose(
            a, (loss.smoothed(m + h, s, mu)[0] - loss.smoothed(m - h, s, mu)[0]) / (2 * h), atol=1e-8
        )
        np.testing.assert_allclose(
            v, (loss.smoothed(m, s + h, mu)[0] - loss.smoothed(m, s - h, mu)[0]) / (2 * h), atol=1e-8
        )

    def test_extreme_numbers_raise_no_floating_point_flag(self, loss):
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            for result in (
                loss.value(GRID_M, GRID_S),
                *loss.slopes(GRID_M, GRID_S),
                *loss.smoothed(GRID_M, GRID_S, 1e-3),
            ):
                assert np.isfinite(result).all()


def test_expected_hinge_is_the_mean_of_the_hinge():
    loss = rs.losses.ExpectedHinge()
    for m, s in [(0.3, 0.5), (-2.0, 0.7), (4.0, 1.5), (-1.0, 10.0)]:
        mean, _ = quad(lambda u, m=m, s=s: max(0.0, m + s * u) * norm.pdf(u), -m / s, max(-m / s, 0) + 12, epsabs=1e-13)
        np.testing.assert_allclose(loss.value(np.array([m]), np.array([s])), mean, rtol=1e-9)


def test_expected_hinge_keeps_its_digits_in_the_lower_tail():
    # E max(0, m + sN) at m = -x s is s phi(x) (1/x^2 - 3/x^4 + 15/x^6 - ...): (1 + erf)/2 is 100 times off at x = 10.
    x = 10.0
    series = norm.pdf(x) * sum(c / x**k for k, c in ((2, 1), (4, -3), (6, 15), (8, -105), (10, 945), (12, -10395)))
    np.testing.assert_allclose(rs.losses.ExpectedHinge().value(np.array([-x]), np.array([1.0])), series, rtol=1e-5)


def test_worst_case_is_the_largest_hinge_over_the_set():
    rng = np.random.default_rng(4)
    loss = rs.losses.WorstCase(gamma=1.3)
    m, s = rng.normal(size=50), rng.random(50)
    moved = np.maximum(0, m[:, None] + np.linspace(-1.3, 1.3, 2001) * s[:, None])
    np.testing.assert_allclose(loss.value(m, s), moved.max(axis=1), rtol=1e-13)

"""Laws that tie a penalty's value, prox and conjugate together."""

import numpy as np
import pytest

from robustsvm.penalties import Ball, Penalty, Ridge

EVERY = [Ridge(1e-8), Ridge(0.3), Ridge(1e4), Ball(1e-3), Ball(2.0), Ball(1e6)]


def test_every_penalty_is_tested():
    assert {type(penalty) for penalty in EVERY} == set(Penalty.__subclasses__())


@pytest.mark.parametrize("penalty", EVERY, ids=repr)
class TestEveryPenalty:
    vectors = np.concatenate(
        [np.random.default_rng(0).normal(size=(90, 3)) * np.repeat([1e-6, 1.0, 1e6], 30)[:, None], np.zeros((1, 3))]
    )

    def test_fenchel_young(self, penalty):
        for w in self.vectors:
            for z in self.vectors:
                bound = penalty.value(w) + penalty.conjugate(z)
                assert w @ z <= bound + 1e-12 * max(abs(w @ z), 1e-300)

    def test_the_conjugate_is_attained(self, penalty):
        for z in self.vectors:
            w = penalty.conjugate_maximiser(z)
            np.testing.assert_allclose(z @ w - penalty.value(w), penalty.conjugate(z), rtol=1e-12)

    def test_prox_minimises(self, penalty):
        rng = np.random.default_rng(1)
        for w in self.vectors:
            for step in (1e-3, 1.0, 1e3):
                u = penalty.prox(w, step)
                best = step * penalty.value(u) + 0.5 * np.sum((u - w) ** 2)
                for scale in (1e-3, 0.1):
                    other = penalty.prox(u + scale * np.abs(w).max() * rng.normal(size=3), 1e-12)
                    there = step * penalty.value(other) + 0.5 * np.sum((other - w) ** 2)
                    assert best <= there * (1 + 1e-12)

    def test_moreau_decomposition(self, penalty):
        # w = prox_R(w) + prox_{R*}(w), and a pair (u, w - u) attains Fenchel-Young.
        for w in self.vectors:
            u = penalty.prox(w, 1.0)
            both = penalty.value(u) + penalty.conjugate(w - u)
            np.testing.assert_allclose(u @ (w - u), both, rtol=1e-9, atol=1e-12 * (1 + w @ w))

    def test_gradient_is_a_subgradient(self, penalty):
        inside = [penalty.prox(w, 1e-12) for w in self.vectors]
        for w in inside:
            for u in inside:
                below = penalty.value(w) + penalty.gradient(w) @ (u - w)
                assert penalty.value(u) >= below - 1e-9 * (abs(below) + penalty.value(w))

    def test_ray_is_normal_to_the_set(self, penalty):
        for w in (penalty.prox(w, 1e-12) for w in self.vectors):
            ray = penalty.ray(w)
            if ray is not None:
                assert all(ray @ (penalty.prox(u, 1e-12) - w) <= 1e-9 * (w @ w) for u in self.vectors)

    def test_best_scale_maximises(self, penalty):
        grid = np.linspace(0, 1, 2001)
        for z in self.vectors:
            for gain in (-1.0, 0.0, 1e-6, 0.5, 1e3):
                t = penalty.best_scale(gain, z)
                assert 0 <= t <= 1
                values = [k * gain - penalty.conjugate(k * z) for k in grid]
                assert t * gain - penalty.conjugate(t * z) >= max(values) - 1e-12 * max(map(abs, values))

    def test_conjugate_error_covers_every_perturbation(self, penalty):
        rng = np.random.default_rng(2)
        for z in self.vectors:
            error = 0.1 * np.abs(rng.normal(size=3)) * (1 + np.abs(z))
            allowed = penalty.conjugate(z) + penalty.conjugate_error(z, error)
            for signs in rng.choice([-1.0, 1.0], size=(8, 3)):
                assert penalty.conjugate(z + signs * error) <= allowed * (1 + 1e-12)


def test_ball_is_infinite_outside():
    assert Ball(1.0).value(np.array([1.0, 1e-3])) == np.inf

"""One table: every formulation solved as a cone program, by full passes and by minibatches, and all three agree.

A formulation that is exported and has no row here fails `test_every_formulation_has_a_row`.
"""

import numpy as np
import pytest

import robustsvm as rs
from tests.cases import COVARIANCES, SPREADS, case_id, make_points

LAM = 0.02
# name of the formulation, its arguments, norm of the sets
ROWS = [
    ("nominal", {}, 2.0),
    *(("worst_case", {"gamma": 0.7}, p) for p in (1.0, 1.5, 2.0, np.inf)),
    *(
        ("chance_constrained", {"epsilon": 0.2, "noise": noise}, 2.0)
        for noise in ("gaussian", "any", "symmetric", "unimodal")
    ),
    ("expected_hinge", {}, 2.0),
]
CASES = [(*row, kind) for row in ROWS for kind in SPREADS if row[2] == 2 or kind not in COVARIANCES]
NOT_FORMULATIONS = {"Formulation", "from_problem", "kappa"}


def ids(case):
    name, arguments, p, kind = case
    return f"{name}-{arguments.get('noise', case_id(p))}-{kind}"


def test_every_formulation_has_a_row():
    assert {row[0] for row in ROWS} == set(rs.formulations.__all__) - NOT_FORMULATIONS


@pytest.mark.parametrize("fit_intercept", (True, False), ids=("intercept", "bare"))
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_paths_agree(case, fit_intercept):
    name, arguments, p, kind = case
    points, y = make_points(kind, p, n=60, d=4)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    f = getattr(rs.formulations, name)(
        points, y, lam=LAM, sample_weight=weights, fit_intercept=fit_intercept, **arguments
    )
    exact = f.solve()
    batch = rs.solve(f.problem, "batch", tol=1e-4)
    stochastic = rs.solve(f.problem, "stochastic", tol=1e-2, max_passes=100, random_state=0)
    assert exact.gap <= 1e-6
    assert batch.gap <= 1e-4
    assert stochastic.gap <= 1e-2
    for one in (exact, batch, stochastic):
        # Recomputed from the answers alone: what a solver says of itself does not count.
        assert one.objective == pytest.approx(f.problem.objective(one.w, one.b), rel=1e-12)
        assert one.lower_bound == pytest.approx(f.problem.lower_bound(one.dual), rel=1e-9)
        for other in (exact, batch, stochastic):
            assert abs(one.objective - other.objective) <= (one.gap + other.gap) * max(one.objective, other.objective)
            assert one.lower_bound <= other.objective * (1 + 1e-12)

"""One table of mistakes: each gives an error that names the argument and says what to do."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import robustsvm as rs

X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, -1.0]])
Y = np.array([-1, -1, 1, 1])
POINTS = rs.UncertainPoints(X, std=0.3)
U, F = rs.UncertainPoints, rs.formulations


def problem(points=POINTS, y=Y, loss=None, lam=0.1, **options):
    return rs.Problem(points, y, loss or rs.losses.WorstCase(1.0), lam, **options)


def worst_case(**options):
    return F.worst_case(POINTS, Y, **{"lam": 0.1, **options})


def changed(name, value, make=worst_case):
    f = make()
    f.parameters[name].value = value
    return f.solve()


NAN, INF = np.nan, np.inf
MISTAKES = {
    # -- points
    "NaN in X": (lambda: U([[NAN, 1.0]]), ValueError, "X contains NaN or infinity; impute or drop"),
    "infinity in X": (lambda: U([[INF, 1.0]]), ValueError, "X contains NaN or infinity"),
    "NaN in sparse X": (lambda: U(sp.csr_array([[NAN, 1.0]])), ValueError, "X contains NaN"),
    "X too large": (lambda: U(X * 1e200), ValueError, "X has entries of size 2e.200; rescale"),
    "1-D X": (lambda: U([1.0, 2.0]), ValueError, r"X must be 2-D.*X\[:, None\]"),
    "empty X": (lambda: U(np.zeros((0, 3))), ValueError, "X is empty"),
    "no features": (lambda: U(np.zeros((3, 0))), ValueError, "X is empty"),
    "ragged X": (lambda: U([[1.0, 2.0], [3.0]]), ValueError, "X must be a rectangular array"),
    "X of words": (lambda: U([["1", "2"]]), TypeError, "X must hold real numbers"),
    "complex X": (lambda: U(X + 1j), TypeError, "X must hold real numbers"),
    "complex sparse X": (lambda: U(sp.csr_array(X + 1j)), TypeError, "X must hold real numbers"),
    "dates": (lambda: U(np.array([["2020-01-01"]], "M8[D]")), TypeError, "X must hold real numbers"),
    "masked X": (lambda: U(np.ma.masked_array(X, X > 1)), TypeError, "X is a masked array"),
    "points of points": (lambda: U(POINTS), TypeError, "X is UncertainPoints already"),
    "NaN in std": (lambda: U(X, std=[NAN] * 4), ValueError, "std contains NaN"),
    "negative std": (lambda: U(X, std=-0.1), ValueError, "std must not be negative; the smallest entry is -0.1"),
    "negative variance": (lambda: U(X, var=-X), ValueError, "var must not be negative"),
    "std per feature as 1-D": (lambda: U(X, std=[0.1, 0.2]), ValueError, r"per feature pass std\[None, :\]"),
    "std of wrong length": (lambda: U(X, std=[0.1] * 3), ValueError, r"std of shape \(3,\) does not match 4 samples"),
    "std of wrong shape": (lambda: U(X, std=np.ones((3, 2))), ValueError, "std must be a scalar"),
    "sparse std": (lambda: U(X, std=sp.csr_array(np.abs(X))), TypeError, "std must be a dense array"),
    "two spreads": (lambda: U(X, std=0.1, var=0.1), ValueError, "one of std, var, cov and factor, not std and var"),
    "cov not symmetric": (lambda: U(X, cov=[[1, 0.5], [0, 1]]), ValueError, r"cov\[0\] is not symmetric.*swapaxes"),
    "cov not PSD": (lambda: U(X, cov=[[1, 2], [2, 1]]), ValueError, r"cov\[0\] is not positive semidefinite.*-1"),
    "negative variance in cov": (lambda: U(X, cov=np.diag([1e20, -1.0])), ValueError, "not positive semidefinite"),
    "third cov not PSD": (
        lambda: U(X, cov=[np.eye(2), np.eye(2), -np.eye(2), np.eye(2)]), ValueError, r"cov\[2\] is not positive"),
    "cov of wrong shape": (lambda: U(X, cov=np.ones((4, 3))), ValueError, r"cov must have shape.*got \(4, 3\)"),
    "cov count": (lambda: U(X, cov=[np.eye(2)] * 3), ValueError, "3 matrices for 4 samples; pass group="),
    "cov and p": (lambda: U(X, cov=np.eye(2), p=1), ValueError, "fixes an ellipsoid, not a 1-norm set.*std=.*factor="),
    "cov and with_p": (lambda: U(X, cov=np.eye(2)).with_p(INF), ValueError, "cov with p = inf"),
    "factor of wrong shape": (lambda: U(X, factor=np.ones((4, 3, 1))), ValueError, "factor must have shape"),
    "group out of range": (lambda: U(X, cov=[np.eye(2)], group=[0, 0, 0, 1]), ValueError, "row numbers 0 .. 0"),
    "negative group": (lambda: U(X, cov=[np.eye(2)], group=[0, 0, 0, -1]), ValueError, "group must hold row numbers"),
    "group of floats": (lambda: U(X, cov=[np.eye(2)], group=[0.0] * 4), TypeError, "group must hold integers"),
    "group too short": (lambda: U(X, cov=[np.eye(2)], group=[0]), ValueError, "group must have one entry per sample"),
    "group alone": (lambda: U(X, group=[0] * 4), ValueError, "group needs std, var, cov or factor"),
    "p below 1": (lambda: U(X, std=0.1, p=0.5), ValueError, r"p must be a number in \[1, inf\], got 0.5: below 1"),
    "p NaN": (lambda: U(X, std=0.1, p=NAN), ValueError, "p must be a number"),
    "p a word": (lambda: U(X, std=0.1, p="two"), TypeError, "p must be a number"),
    "names too few": (lambda: U(X, feature_names=["a"]), ValueError, "feature_names has 1 names for 2 features"),
    "names a word": (lambda: U(X, feature_names="ab"), TypeError, "feature_names must be a sequence"),
    "names twice": (lambda: U(X, feature_names=["a", "a"]), ValueError, "feature_names must be distinct"),
    "columns by index": (lambda: POINTS[:, [0]], TypeError, r"points.columns\(columns\)"),
    "row out of range": (lambda: POINTS[9], IndexError, "out of bounds"),
    "mask of wrong length": (lambda: POINTS[[True, False]], IndexError, "boolean"),
    "no rows": (lambda: POINTS[[]], IndexError, "no rows selected"),
    "row by name": (lambda: POINTS["a"], TypeError, "indexed by rows"),
    "row by float": (lambda: POINTS[[0.5]], IndexError, "slice, a mask or integers"),
    "unknown column": (lambda: POINTS.columns("a"), KeyError, "no feature named 'a'"),
    "column twice": (lambda: POINTS.columns([0, 0]), ValueError, "columns must be distinct"),
    "no columns": (lambda: POINTS.columns([]), IndexError, "no columns selected"),
    "columns 2-D": (lambda: POINTS.columns([[0, 1]]), TypeError, "columns must be numbers, names"),
    "negative radius": (lambda: POINTS.scaled(-1.0), ValueError, "radius must not be negative"),
    "radii of wrong length": (lambda: POINTS.scaled([1.0]), ValueError, r"radius must be one number or shape \(4,\)"),
    "radius overflow": (lambda: POINTS.scaled(1e90).scaled(1e90), ValueError, "rescale"),
    "no draws": (lambda: POINTS.sample(0), ValueError, "k must be a whole number"),
    "half a draw": (lambda: POINTS.sample(2.5), ValueError, "k must be a whole number"),
    "concatenate arrays": (lambda: POINTS.concatenate(X), TypeError, "takes UncertainPoints, got ndarray"),
    "concatenate other features": (
        lambda: POINTS.concatenate(U([[1.0]])), ValueError, "the features must agree"),
    "concatenate other norms": (lambda: POINTS.concatenate(POINTS.with_p(1)), ValueError, "different norms"),
    # -- labels, weights
    "labels as words": (lambda: problem(y=["a", "a", "b", "b"]), ValueError, r"y must hold -1 and \+1.*np.where"),
    "labels 0 and 1": (lambda: problem(y=[0, 0, 1, 1]), ValueError, r"y must hold -1 and \+1, got 0, 1"),
    "labels mixed": (lambda: problem(y=np.array([1, "a", None, 2], object)), ValueError, "y must hold"),
    "labels NaN": (lambda: problem(y=[-1, NAN, 1, 1]), ValueError, "y must hold"),
    "booleans": (lambda: problem(y=[True, True, False, False]), ValueError, "y must hold"),
    "one class": (lambda: problem(y=[1, 1, 1, 1]), ValueError, r"y has one class only \(\+1\)"),
    "too few labels": (lambda: problem(y=[1, -1]), ValueError, r"y must have one label per sample, shape \(4,\)"),
    "masked labels": (lambda: problem(y=np.ma.masked_array(Y, Y > 0)), TypeError, "y is a masked array"),
    "negative weight": (lambda: problem(sample_weight=[1, 1, 1, -1]), ValueError, "sample_weight must not be negative"),
    "NaN weight": (lambda: problem(sample_weight=[1, 1, 1, NAN]), ValueError, "sample_weight contains NaN"),
    "weightless class": (lambda: problem(sample_weight=[1, 1, 0, 0]), ValueError, r"0 for all of class \+1"),
    "weights too few": (lambda: problem(sample_weight=[1, 1]), ValueError, r"sample_weight must have shape \(4,\)"),
    # -- problem, losses, penalties
    "lam zero": (lambda: problem(lam=0.0), ValueError, "lam must be a finite number > 0, got 0.0"),
    "lam negative": (lambda: worst_case(lam=-1.0), ValueError, "lam must be a finite number > 0"),
    "lam NaN": (lambda: worst_case(lam=NAN), ValueError, "lam must be a finite number > 0"),
    "lam infinite": (lambda: worst_case(lam=INF), ValueError, "lam must be a finite number > 0"),
    "lam a word": (lambda: worst_case(lam="0.1"), TypeError, "lam must be a finite number > 0, got '0.1'"),
    "lam None": (lambda: worst_case(lam=None), TypeError, "lam must be a finite number > 0, got None"),
    "lam an array": (lambda: worst_case(lam=[0.1]), TypeError, "lam must be a finite number > 0"),
    "lam and penalty": (lambda: problem(penalty=rs.penalties.Ball(1.0)), ValueError, "one of lam and penalty"),
    "neither": (lambda: problem(lam=None), ValueError, "one of lam and penalty"),
    "penalty a number": (lambda: problem(lam=None, penalty=1.0), TypeError, "penalty must be a Penalty"),
    "loss a word": (lambda: problem(loss="hinge"), TypeError, "loss must be a Loss such as"),
    "ball of radius 0": (lambda: rs.penalties.Ball(0.0), ValueError, "radius must be a finite number > 0"),
    "gamma negative": (lambda: rs.losses.WorstCase(-1.0), ValueError, "gamma must be a finite number >= 0"),
    "gamma None": (lambda: rs.losses.WorstCase(None), TypeError, "gamma must be a finite number >= 0, got None"),
    "gamma an array": (lambda: rs.losses.WorstCase([1.0]), ValueError, r"points.scaled\(radii\)"),
    "gamma negative in formulation": (lambda: worst_case(gamma=-1.0), ValueError, "gamma must be >= 0, got -1"),
    "gamma NaN": (lambda: worst_case(gamma=NAN), ValueError, "gamma contains NaN"),
    "gamma complex": (lambda: worst_case(gamma=1j), TypeError, "gamma must hold real numbers"),
    "gamma of wrong length": (lambda: worst_case(gamma=[1.0]), ValueError, r"gamma must be one number or shape \(4,\)"),
    "expected hinge of a box": (
        lambda: F.expected_hinge(POINTS.with_p(INF), Y, lam=0.1), ValueError, "as Gaussians: p must be 2, got inf"),
    "chance of a box": (
        lambda: F.chance_constrained(POINTS.with_p(1), Y, lam=0.1), ValueError, "p = 2; these points have p = 1"),
    "intercept a word": (lambda: problem(fit_intercept="no"), TypeError, "fit_intercept must be True or False"),
    "margin of wrong length": (lambda: problem(margin=[1.0]), ValueError, "margin must be one number"),
    # -- epsilon
    **{
        f"epsilon {epsilon} for {noise}": (
            lambda epsilon=epsilon, noise=noise: F.chance_constrained(POINTS, Y, lam=0.1, epsilon=epsilon, noise=noise),
            ValueError, f"epsilon must lie in .* for noise='{noise}', got")
        for noise, bad in {"gaussian": (0, -0.1, 0.6), "any": (0, 1), "symmetric": (0, 0.5), "unimodal": (0.5,)}.items()
        for epsilon in bad
    },
    "epsilon too small for floats": (
        lambda: F.chance_constrained(POINTS, Y, lam=0.1, epsilon=1e-320, noise="any"), ValueError, "epsilon"),
    "noise misspelt": (
        lambda: F.chance_constrained(POINTS, Y, lam=0.1, noise="normal"), ValueError, "noise must be one of"),
    # -- parameters changed later
    "lam set to 0": (lambda: changed("lam", 0.0), ValueError, "lam must be a finite number > 0|must be positive"),
    "lam unset": (lambda: changed("lam", None), ValueError, r"parameters\['lam'\] has no value"),
    "gamma set negative": (lambda: changed("gamma", -1.0), ValueError, "nonnegative"),
    "epsilon set to 0.7": (
        lambda: changed("epsilon", 0.7, lambda: F.chance_constrained(POINTS, Y, lam=0.1)), ValueError, "epsilon must"),
    "parameter replaced": (lambda: worst_case().parameters.__setitem__("lam", 0.5), TypeError, "value = 0.5"),
    "parameter misspelt": (lambda: worst_case().parameters["gama"], KeyError, "no parameter 'gama'; there are lam"),
    "constraint of another": (
        lambda: worst_case().subject_to(worst_case().w >= 0), ValueError, "nothing to do with w or b of this"),
    "NaN in a dual": (
        lambda: problem().lower_bound(rs.Dual(np.full(4, NAN), np.ones(4))), ValueError, "dual.a contains NaN"),
    # -- solving
    "tol zero": (lambda: worst_case().solve(tol=0.0), ValueError, "tol must be a finite number > 0"),
    "tol a word": (lambda: worst_case().solve(tol="small"), TypeError, "tol must be a finite number > 0"),
    "tol infinite": (lambda: rs.solve(problem(), tol=INF), ValueError, "tol must be a finite number > 0"),
    "unknown solver": (lambda: rs.solve(problem(), solver="magic"), ValueError, "solver must be one of auto, exact"),
    "solver a cone solver": (lambda: rs.solve(problem(), solver="ECOS"), ValueError, 'cvxpy_solver="ECOS"'),
    "solver None": (lambda: rs.solve(problem(), solver=None), ValueError, "solver must be one of"),
    "unknown cone solver": (
        lambda: worst_case().solve("CLARABELLA"), ValueError, "'CLARABELLA' is not a solver.*installed"),
    "solver by the wrong name": (lambda: worst_case().solve(solver="ECOS"), TypeError, "cvxpy_solver='ECOS'"),
    "unknown option": (lambda: worst_case().solve(max_iters_typo=3), TypeError, "did not take.*max_iters_typo"),
    "option of another path": (lambda: rs.solve(problem(), "exact", max_passes=3), TypeError, "max_passes means"),
    "option misspelt": (lambda: rs.solve(problem(), max_pases=3), TypeError, "did you mean max_passes"),
    "option of another solver": (
        lambda: rs.solve(problem(), batch_size=3),
        TypeError,
        'batch_size means nothing to solver="exact"; "auto" chose exact; it is an option of stochastic, pegasos',
    ),
    "no such option": (lambda: rs.solve(problem(), "batch", colour=3), TypeError, "there is no option colour of"),
    "wrong tol": (lambda: rs.solve(problem(), "batch", tol=0.0), ValueError, "tol must be a finite number > 0"),
    "tol a word again": (lambda: rs.solve(problem(), "stochastic", tol="small"), TypeError, "tol must be a finite"),
    "passes": (lambda: rs.solve(problem(), "batch", max_passes=-1), ValueError, "max_passes must be"),
    "callback": (lambda: rs.solve(problem(), "batch", callback=3), TypeError, "callback must be callable"),
    "verbose": (lambda: rs.solve(problem(), "batch", verbose="yes"), ValueError, "verbose must be a whole number"),
    "seed": (lambda: rs.solve(problem(), "stochastic", random_state="a"), ValueError, "random_state must be"),
    "minibatch": (lambda: rs.solve(problem(), "stochastic", batch_size=0), ValueError, "batch_size must be"),
    "step": (lambda: rs.solve(problem(), "pegasos", step="long"), ValueError, "step must be one of corrected, printed"),
    "start too long": (
        lambda: rs.solve(problem(), "batch", warm_start=np.ones(9)), ValueError, "warm_start: w must have shape"
    ),
    "start a list of two": (
        lambda: rs.solve(problem(), "batch", warm_start=[np.ones(2), 1.0]), ValueError, "warm_start: w must be a rect"
    ),
    "start not fitted": (
        lambda: rs.solve(problem(), "batch", warm_start=LinearSVC()), TypeError, "warm_start: LinearSVC has no coef_"
    ),
    "start with pegasos": (
        lambda: rs.solve(problem(), "pegasos", warm_start=np.ones(2)), TypeError, "warm_start means nothing to solver"
    ),
    "pegasos in a ball": (
        lambda: rs.solve(problem().with_penalty(rs.penalties.Ball(1.0)), "pegasos"), TypeError, "needs a Ridge penalty"
    ),
    "path of nothing": (lambda: rs.path(problem(), []), ValueError, "lams is empty"),
    "path of a negative": (lambda: rs.path(problem(), [1.0, -1.0]), ValueError, r"lams\[1\] must be"),
    "path of one": (lambda: rs.path(problem(), 1.0), TypeError, "lams must be a sequence"),
    "b of a solution": (
        lambda: rs.certify(problem(), rs.solve(problem()), 1e-3), TypeError, "b comes with the Solution; leave it out"
    ),
    "chunks a list": (lambda: rs.Problem.from_chunks([], rs.losses.Hinge(), 1.0), TypeError, "chunks must be a call"),
    "trace of a pair": (lambda: rs.testing.trace(problem(), (1.0, 2.0)), TypeError, "iterates must be a list"),
    "trace of the wrong length": (
        lambda: rs.testing.trace(problem(), [np.ones(7)], lower_bound=0.0), ValueError, r"iterates\[0\]: w must have"
    ),
    "false bound": (
        lambda: rs.testing.trace(problem(), [np.zeros(2)], lower_bound=9.0), rs.errors.FalseBoundError, "exceeds"
    ),
    "solve points": (lambda: rs.solve(POINTS), TypeError, "solve takes a Problem, got UncertainPoints"),
    "constraint a list": (lambda: worst_case().subject_to([True]), TypeError, "subject_to takes CVXPY constraints"),
    # -- certify
    "w too short": (lambda: rs.certify(problem(), [1.0]), ValueError, r"w must have shape \(2,\)"),
    "w NaN": (lambda: rs.certify(problem(), [NAN, 1.0]), ValueError, "w contains NaN"),
    "w of words": (lambda: rs.certify(problem(), ["a", "b"]), TypeError, "w must hold real numbers"),
    "two intercepts": (lambda: rs.certify(problem(), [1.0, 1.0], [1.0, 2.0]), ValueError, "b must be one number"),
    "b without intercept": (
        lambda: rs.certify(problem(fit_intercept=False), [1.0, 1.0], 1.0), ValueError, "b must be 0"),
    "effort 7": (lambda: rs.certify(problem(), [1.0, 1.0], effort=7), ValueError, "effort must be 0, 1, 2 or 3"),
    "certify points": (lambda: rs.certify(POINTS, [1.0, 1.0]), TypeError, "certify takes a Problem"),
    "certify a formulation": (lambda: rs.certify(worst_case(), [1.0, 1.0]), TypeError, "has one as .problem"),
    "dual a list": (lambda: rs.certify(problem(), [1.0, 1.0], dual=[1]), TypeError, "dual must be an rs.Dual"),
    "dual too short": (
        lambda: problem().lower_bound(rs.Dual(np.ones(2), np.ones(2))), ValueError, r"dual.a must have shape \(4,\)"),
    "w overflows": (lambda: rs.certify(problem(U(X * 1e99)), [1e99, 0.0]), ValueError, "rescale|overflow|size"),
    # -- metrics
    "model of wrong size": (lambda: rs.metrics.mean_error(([1.0], 0.0), POINTS, Y), ValueError, "w must have shape"),
    "model NaN": (lambda: rs.metrics.worst_case_error(([NAN, 0.0], 0.0), POINTS, Y), ValueError, "w contains NaN"),
    "model a word": (lambda: rs.metrics.mean_error("svm", POINTS, Y), TypeError, "a Solution, a fitted linear"),
    "expected error of a box": (
        lambda: rs.metrics.expected_error(([1.0, 0.0], 0.0), POINTS.with_p(1), Y), ValueError, "p must be 2, got 1"),
    "radius of the error": (
        lambda: rs.metrics.worst_case_error(([1.0, 0.0], 0.0), POINTS, Y, gamma=-1), ValueError, "gamma must be"),
    "attribute misspelt": (lambda: rs.UncertainPoint, AttributeError, "no attribute 'UncertainPoint'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake):
    make, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message):
        make()


def test_a_loss_without_cones_says_so():
    class Squared(rs.losses.Hinge):
        pass

    with pytest.raises(TypeError, match="no conic form; those with one: Hinge, WorstCase, ExpectedHinge"):
        rs.solve(problem(loss=Squared()))
    assert cp.installed_solvers()

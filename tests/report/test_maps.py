"""A map has the plane of a PCA, a look for each class, and a ring around each mistake."""

import numpy as np
from sklearn.decomposition import PCA

from edgecond.nn.tasks.findings import Marks
from edgecond.report.maps import drawn_map, key_of, principal_plane
from edgecond.report.page import key


def test_the_plane_of_a_map_is_that_of_scikit_learn():
    """Up to the sign of a component; points on a line have no second one."""
    rows = np.random.default_rng(0).normal(size=(40, 5)) @ np.diag([5, 3, 1, 1, 1])
    pca = PCA(2).fit(rows)

    positions, shares = principal_plane(rows)

    np.testing.assert_allclose(np.abs(positions), np.abs(pca.transform(rows)), atol=1e-9)
    np.testing.assert_allclose(shares, pca.explained_variance_ratio_, atol=1e-9)
    assert principal_plane(np.ones((3, 1)))[0].tolist() == [[0, 0]] * 3


def test_forty_classes_look_different():
    classes = tuple(f"class {number}" for number in range(40))
    marks = Marks(np.arange(40), classes, "class", np.zeros(40, bool))

    signs = key_of(marks)
    traces = drawn_map(np.zeros((40, 2)), marks, classes)["data"][:-1]

    assert [sign.meaning for sign in signs] == [*classes, "wrong prediction"]
    assert len({(sign.letter, sign.colour) for sign in signs}) == 41
    assert len({(trace["marker"]["symbol"], trace["marker"]["color"]) for trace in traces}) == 40


def test_the_key_has_the_classes_that_there_are_as_text():
    marks = Marks(np.array([0, 2, -1]), ("<b>a</b>", "b", "c"), "class", np.array([True, False, False]))

    text = key(key_of(marks))

    assert "&lt;b&gt;a&lt;/b&gt;</li>" in text
    assert " c</li>" in text
    assert " b</li>" not in text

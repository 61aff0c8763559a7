"""Figures hold the numbers that they are given, and Plotly accepts them."""

import numpy as np
import pytest

from edgecond.report.figures import confusion, curve, images, lines, matrix, numbers, plain, scatter


def history(*rates):
    return [
        {"epoch": i, "loss": 1 / i, "accuracy": i / 10, "learning_rate": rate, "seconds": 1.0}
        for i, rate in enumerate(rates, 1)
    ]


def test_the_colour_of_a_confusion_matrix_is_the_share_of_the_true_class():
    """By hand: 2 and 1 of 3, nothing and 4 of 4; a class without examples has no share."""
    cells = confusion(np.array([[2, 1, 0], [0, 4, 0], [0, 0, 0]]), ["a", "b", "c"])["data"][0]

    assert cells["z"] == [[0.6667, 0.3333, 0], [0, 1, 0], [0, 0, 0]]
    assert cells["customdata"] == [[2, 1, 0], [0, 4, 0], [0, 0, 0]]
    assert cells["text"] == [["2", "1", ""], ["", "4", ""], ["", "", ""]]


def test_counts_are_written_into_the_cells_of_few_classes_only():
    small, large = (confusion(np.eye(n, dtype=int), ["x"] * n)["data"][0] for n in (20, 21))

    assert (small["texttemplate"], large["texttemplate"]) == ("%{text}", "")


def test_a_learning_rate_that_drops_by_powers_of_ten_has_a_log_scale():
    dropping, halving = (
        curve(history(*rates), "learning_rate")["layout"]["yaxis"] for rates in ((0.1, 0.01), (0.1, 0.05))
    )

    assert dropping["type"] == "log"
    assert "type" not in halving


def test_text_is_escaped_and_cut():
    assert plain("<b>&") == "&lt;b&gt;&amp;"
    assert plain("a" * 30) == "a" * 23 + "…"


def test_numbers_have_four_digits_and_nan_becomes_none():
    assert numbers(np.array([[1 / 3, np.nan], [12345.6, np.inf]])) == [[0.3333, None], [12350.0, None]]


def test_images_fill_a_square_row_by_row():
    """Five images make three columns and two rows; the first of the second row begins at the left edge again."""
    figure = images(np.zeros((5, 2, 2)), list("abcde"), [0, 1], [0, 1], 1.0, "%{z}")

    left = [figure["layout"][f"xaxis{end}"]["domain"][0] for end in ("", "2", "3", "4", "5")]
    assert left == pytest.approx([0.01, 1 / 3 + 0.01, 2 / 3 + 0.01, 0.01, 1 / 3 + 0.01])
    assert [note["text"] for note in figure["layout"]["annotations"]] == list("abcde")


@pytest.mark.parametrize(
    "figure",
    [
        *(curve(history(0.1, 0.01), name) for name in ("loss", "accuracy", "learning_rate")),
        confusion(np.eye(3, dtype=int), ["a", "b", "c"]),
        images(np.zeros((3, 2, 2)), ["1", "2", "3"], [0, 1], [0, 1], 1.0, "%{z}"),
        matrix(np.zeros((4, 2)), 1.0),
        scatter(np.array([0.0, 1.0]), np.array([0.5, 1.5]), ["a", "b"]),
    ],
)
def test_plotly_accepts_the_figures(figure):
    """Its Python package raises an error for an unknown property."""
    go = pytest.importorskip("plotly.graph_objects")

    assert go.Figure(figure).to_dict()["data"]


def test_lines_have_their_points_and_a_diagonal_if_asked_for():
    both = lines([("a<b", np.array([0.0, 1]), np.array([0.5, np.nan]))], "share", "error", True)["data"]
    alone = lines([("a", np.zeros(1), np.zeros(1))], "share", "error", False)["data"]

    assert [len(both), len(alone)] == [2, 1]
    assert both[0]["x"] == both[0]["y"] == [0, 1]
    assert (both[1]["x"], both[1]["y"]) == ([0, 1], [0.5, None])
    assert "a&lt;b" in both[1]["hovertemplate"]

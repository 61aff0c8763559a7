"""Recipes hold together, and every number of the paper's tables is rerun by exactly one row."""

from collections import Counter

import pytest

from edgecond.errors import RecipeError
from edgecond.runs.recipe import experiment, find, format_settings, read, recipes, with_settings, written

BASE = """
[base]
dataset = "toy"
network = "C(4)-MP(1,2)-GAP-FC(3)"
input = { resolution = "1/32", radius = 2 }
train = { epochs = 3, batch_size = 2, learning_rate = 0.1 }
[rows.ecc]
paper = [{ table = 1, row = "ECC", f1 = 0.5 }]
"""

# Every ECC number of the paper's point cloud tables and of the text beside them, read off the paper.
PAPER = {
    (1, "ECC 2ρ"): (74.4,),
    (1, "ECC 1.5ρ"): (76.9,),
    (1, "ECC"): (78.4,),
    ("4.1", "identity, ECC"): (77.0,),
    ("4.1", "identity, ECC 1.5ρ"): (79.5,),
    ("4.1", "identity, ECC 2ρ"): (77.4,),
    (6, "(dx, dy, dz, |d|, arccos dz/|d|, arctan dy/dx)"): (78.4,),
    (6, "(dx, dy, dz)"): (76.1,),
    (6, "(|d|, arccos dz/|d|, arctan dy/dx)"): (77.3,),
    (6, "(|dxy|, dz, |d|, arccos dz/|d|)"): (75.8,),
    (6, "(|dxy|, dz)"): (78.2,),
    (6, "(|d|, arccos dz/|d|)"): (78.7,),
    (6, "(|d|)"): (60.7,),
    (6, "(0)"): (38.9,),
    (5, "ECC"): (99.12, 99.14),
    (5, "ECC (sparse input)"): (99.36, 99.14),
    (5, "ECC (one-hot)"): (99.53, 99.37),
    ("D", "IRz labels"): (89.9,),
}
# Tables with a column per dataset: the same row for several.
BY_DATASET = {
    ("sydney", 7, "ECC-resnet"): (77.0,),
    ("sydney", 7, "ECC"): (78.4,),
    ("sydney", 9, "ECC-Z"): (75.5,),
    ("sydney", 9, "ECC"): (78.4,),
    ("modelnet10", 2, "ECC"): (89.3, 90.0),
    ("modelnet10", 2, "ECC (12 votes)"): (90.0, 90.8),
    ("modelnet10", 7, "ECC-resnet"): (88.5, 89.3),
    ("modelnet10", 7, "ECC"): (89.3, 90.0),
    ("modelnet10", 9, "ECC-Z"): (89.9, 90.6),
    ("modelnet10", 9, "ECC"): (89.3, 90.0),
    ("modelnet40", 2, "ECC"): (82.4, 87.0),
    ("modelnet40", 2, "ECC (12 votes)"): (83.2, 87.4),
}
# Tables of general graphs: NCI1, NCI109, MUTAG, ENZYMES, D&D.
GRAPHS = {
    (4, "ECC (no edge labels)"): (76.82, 75.03, 76.11, 45.67, 72.54),
    (4, "ECC"): (83.80, 81.87, 89.44, 50.00, 73.65),
    (4, "ECC (5 votes)"): (83.63, 82.04, 88.33, 53.50, 73.68),
    (4, "ECC (5 scores)"): (83.80, 82.14, 88.33, 52.67, 74.10),
    (7, "ECC-resnet"): (83.24, 81.97, 85.56, 51.83, 70.48),
    (7, "ECC"): (83.80, 81.87, 89.44, 50.00, 73.65),
    (8, "L_deg = 1/√deg"): (82.99, 81.94, 87.78, 53.67, 73.65),
    (8, "L_deg = 1/deg"): (83.60, 82.40, 88.89, 52.67, 71.77),
    (8, "L_deg = √deg"): (83.58, 82.28, 86.67, 55.00, 75.79),
    (8, "L_deg = deg"): (83.16, 83.03, 86.67, 52.83, 73.74),
    (8, "ECC without L_deg"): (83.80, 81.87, 89.44, 50.00, 73.65),
    (9, "ECC-Z"): (83.48, 82.57, 86.67, 52.50, 72.03),
    (9, "ECC"): (83.80, 81.87, 89.44, 50.00, 73.65),
}
BY_DATASET |= {
    (dataset, *place): (number,)
    for place, numbers in GRAPHS.items()
    for dataset, number in zip(["nci1", "nci109", "mutag", "enzymes", "dd"], numbers, strict=True)
}


def claims():
    """Every claim of every row: where the number stands, and what it is in per cent."""
    for recipe in recipes().values():
        for claim in recipe.paper:
            place = claim.table if claim.table is not None else claim.section
            numbers = tuple(round(100 * value, 2) for value in claim.metrics.values())
            shared = (recipe.name.split("/")[0], place, claim.row)
            yield shared if shared in BY_DATASET else (place, claim.row), numbers


def test_every_number_of_the_tables_is_claimed_by_exactly_one_row():
    found = list(claims())
    expected = {**PAPER, **BY_DATASET}

    assert {key: numbers for key, numbers in found if numbers} == expected
    assert max(Counter(key for key, _ in found).values()) == 1


def test_there_are_as_many_rows_as_the_paper_has_experiments():
    """Sydney: ECC, two radii, three identities, seven more labellings, Z, noise; ModelNet 3 + 1; MNIST 4.

    General graphs: ECC, no edge labels, identity, Z, four degree labels.
    """
    assert Counter(recipe.name.split("/")[0] for recipe in recipes().values() if recipe.paper) == {
        "sydney": 15,
        "modelnet10": 3,
        "modelnet40": 1,
        "mnist": 4,
        **dict.fromkeys(["nci1", "nci109", "mutag", "enzymes", "dd"], 8),
    }


def test_graphs_are_learned_as_the_paper_says():
    """Section 4.3: one-hot labels, FC(64), dropout 0.05, five sparsifications, 50 epochs, 10 folds."""
    for name, recipe in recipes().items():
        if name.split("/")[0] in ("nci1", "nci109", "mutag", "enzymes", "dd"):
            assert recipe.hidden == (() if name.endswith("no-labels") else (64,))
            assert (recipe.dropout, recipe.sparsifications, recipe.views, recipe.folds) == (0.05, 5, 5, 10)
            train = recipe.train
            assert (train.epochs, train.batch_size, train.learning_rate, train.drops) == (50, 64, 0.1, (25, 35, 45))


def test_a_row_is_its_base_and_what_differs():
    plain, wider = find("sydney/ecc"), find("sydney/wider")

    assert wider.radius_scale == 1.5
    assert wider.model_dump(exclude={"name", "paper", "radius_scale"}) == plain.model_dump(
        exclude={"name", "paper", "radius_scale"}
    )


def test_digits_are_learned_by_the_network_of_mnist():
    """The demonstration: the paper's network (Section 4.4) on data that needs no download."""
    assert find("digits/ecc").network == find("mnist/ecc").network


def test_a_recipe_says_itself_in_json_and_back():
    for recipe in recipes().values():
        assert type(recipe).model_validate_json(recipe.model_dump_json()) == recipe


def test_sizes_may_be_written_as_fractions():
    assert read(BASE, "toy.toml")["toy/ecc"].input.resolution == 1 / 32


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[base]", "[basis]", r"must be TOML with the tables \[base\] and \[rows.NAME\]"),
        ("[base]", "[base", "must be TOML"),
        ("C(4)", "X(4)", "a layer is one of"),
        ("epochs = 3", "epochs = 0", r"row ecc: train.epochs: Input should be greater than 0"),
        ("batch_size = 2", "bach_size = 2", r"row ecc: train.batch_size: Field required"),
        ("rate = 0.1", "rate = 0.1, speed = 3", r"row ecc: train.speed: Extra inputs"),
        (
            "-GAP-",
            "-V-",
            r"the task is segmentation where the network has V, .* got the task classification for C\(4\)-MP",
        ),
        (
            "[base]",
            "[base]\ntask = 'segmentation'",
            r"the task is segmentation where the network has V, .* for C\(4\)-MP",
        ),
    ],
)
def test_a_recipe_that_does_not_hold_together_gives_a_sentence(old, new, sentence):
    with pytest.raises(RecipeError, match=sentence):
        read(BASE.replace(old, new), "toy.toml")


def test_an_unknown_row_suggests_known_ones():
    with pytest.raises(RecipeError, match=r"there is no 'sydney/widder'. Did you mean sydney/wider"):
        find("sydney/widder")


def test_settings_are_changed_by_their_dotted_names():
    recipe = with_settings(
        find("nci1/ecc"), {"train.learning_rate": 0.05, "hidden": [32, 32], "network": "C(4)-GAP-FC(2)"}
    )

    assert (recipe.train.learning_rate, recipe.hidden, str(recipe.network)) == (0.05, (32, 32), "C(4)-GAP-FC(2)")
    assert recipe.train.drops == find("nci1/ecc").train.drops


def test_an_experiment_is_called_by_its_row_and_by_what_differs():
    row = find("nci1/ecc")
    found = experiment(row, {"train.momentum": 0, "labels": "given+1/deg", "hidden": [32, 16]})

    assert found.name == "nci1/ecc/hidden=[32,16],labels=given+1%2Fdeg,train.momentum=0.0"
    assert (found.train.momentum, found.labels, found.hidden) == (0.0, "given+1/deg", (32, 16))
    assert found.paper == ()
    assert experiment(row, {"train.momentum": 0}).name == experiment(row, {"train.momentum": 0.0}).name
    assert experiment(row, {}) == row


def test_settings_are_shown_as_they_are_set():
    """What `edgecond show` prints of a row is what `--set` takes, and sets the row to what it is."""
    for recipe in recipes().values():
        said = format_recipe.settings()
        given = [f"{name}={value}" for name, value in said.items() if name not in ("name", "dataset", "task")]

        assert changed(recipe, written(given)) == recipe

    assert format_settings(find("nci1/identity"))["train.drops"] == "[25, 35, 45]"
    assert format_settings(find("nci1/identity"))["identity"] == "true"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trian.learning_rate": 1}, "there is no 'trian.learning_rate'. Did you mean train.learning_rate"),
        (
            {"train.learning_rate": -1},
            "the settings of nci1/ecc must hold together: train.learning_rate: Input should be greater than 0: got -1.",
        ),
        ({"network": "C(4)-FC"}, "the settings of nci1/ecc must hold together: network: "),
    ],
)
def test_a_change_that_cannot_be_made_gives_a_sentence(changes, sentence):
    with pytest.raises(RecipeError) as caught:
        with_settings(find("nci1/ecc"), changes)
    assert sentence in str(caught.value)


def test_a_setting_without_a_value_gives_a_sentence():
    with pytest.raises(
        RecipeError, match=r"a setting is written NAME=VALUE, as train\.learning_rate=0\.05: got 'epochs'\.$"
    ):
        parse_settings(["epochs"])

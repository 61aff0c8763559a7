"""Recipes are consistent, and every number of the paper's tables is rerun by exactly one row."""

from collections import Counter

import pytest

from edgecond.errors import RecipeError
from edgecond.runs.recipe import experiment, find, format_settings, parse_settings, read, recipes, with_settings
from edgecond.runs.sampling import kind_for, sample_settings
from tests.sentences import mentions

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
    """Every claim of every row: the place of the number in the paper, and the number in per cent."""
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


def test_the_settings_of_graphs_are_those_of_the_paper():
    """Section 4.3: one-hot labels, FC(64), dropout 0.05, five sparsifications, 50 epochs, 10 folds."""
    for name, recipe in recipes().items():
        if name.split("/")[0] in ("nci1", "nci109", "mutag", "enzymes", "dd"):
            assert recipe.hidden == (() if name.endswith("no-labels") else (64,))
            views = kind_for(recipe).views(sample_settings(recipe))
            assert (recipe.dropout, recipe.sparsifications, views, recipe.folds) == (0.05, 5, 5, 10)
            train = recipe.train
            assert (train.epochs, train.batch_size, train.learning_rate, train.drops) == (50, 64, 0.1, (25, 35, 45))


def test_a_row_is_its_base_and_what_differs():
    plain, wider = find("sydney/ecc"), find("sydney/wider")

    assert wider.radius_scale == 1.5
    assert wider.model_dump(exclude={"name", "paper", "minutes", "radius_scale"}) == plain.model_dump(
        exclude={"name", "paper", "minutes", "radius_scale"}
    )


def test_digits_have_the_network_of_mnist():
    """The demonstration: the paper's network (Section 4.4) on data that needs no download."""
    assert find("digits/ecc").network == find("mnist/ecc").network


def test_writing_and_reading_a_recipe_as_json_undo_each_other():
    for recipe in recipes().values():
        assert type(recipe).model_validate_json(recipe.model_dump_json()) == recipe


def test_sizes_may_be_written_as_fractions():
    assert read(BASE, "toy.toml")["toy/ecc"].input.resolution == 1 / 32


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[base]", "[basis]", r"must be TOML with the tables \[base\] and \[rows.NAME\]"),
        ("[base]", "[base", "must be TOML"),
        ("C(4)", "X(4)", "network: .*C, MP, AP, .*'X'"),
        ("epochs = 3", "epochs = 0", r"row ecc: train.epochs: Input should be greater than 0"),
        ("batch_size = 2", "bach_size = 2", r"row ecc: train.batch_size: Field required"),
        ("rate = 0.1", "rate = 0.1, speed = 3", r"row ecc: train.speed: Extra inputs"),
    ],
)
def test_an_inconsistent_recipe_is_an_error_that_names_the_setting(old, new, sentence):
    with pytest.raises(RecipeError, match=sentence):
        read(BASE.replace(old, new), "toy.toml")


def test_an_unknown_row_suggests_known_ones():
    with mentions("`edgecond list`", "got 'sydney/widder'", "Did you mean sydney/wider", kind=RecipeError):
        find("sydney/widder")


def test_settings_are_changed_by_their_dotted_names():
    changes = {"train.learning_rate": 0.05, "hidden": [32, 32], "network": "C(4)-GAP-FC(2)"}

    recipe = with_settings(find("nci1/ecc"), changes)

    assert (recipe.train.learning_rate, recipe.hidden, str(recipe.network)) == (0.05, (32, 32), "C(4)-GAP-FC(2)")
    assert recipe.train.drops == find("nci1/ecc").train.drops


def test_an_experiment_has_the_folds_of_its_row():
    """The folds of a data set are given: three of ten are not a cross-validation with three folds."""
    with pytest.raises(
        RecipeError, match=r"the folds of mutag/ecc are those of its data set: got folds=3\. .*--fold\."
    ):
        experiment(find("mutag/ecc"), {"folds": 3})


def test_an_experiment_is_named_after_its_row_and_the_settings_that_differ():
    row = find("nci1/ecc")
    changed = experiment(row, {"train.momentum": 0, "labels": "given+1/deg", "hidden": [32, 16]})

    assert changed.name == "nci1/ecc/hidden=[32,16],labels=given+1%2Fdeg,train.momentum=0.0"
    assert (changed.train.momentum, changed.labels, changed.hidden) == (0.0, "given+1/deg", (32, 16))
    assert changed.paper == ()
    assert experiment(row, {"train.momentum": 0}).name == experiment(row, {"train.momentum": 0.0}).name
    assert experiment(row, {}) == row


def test_parsing_and_formatting_settings_undo_each_other():
    """`edgecond show` prints settings as `--set` takes them."""
    for recipe in recipes().values():
        texts = format_settings(recipe)
        given = [f"{name}={value}" for name, value in texts.items() if name not in ("name", "dataset", "task")]

        assert with_settings(recipe, parse_settings(given)) == recipe

    assert format_settings(find("nci1/identity"))["train.drops"] == "[25, 35, 45]"
    assert format_settings(find("nci1/identity"))["identity"] == "true"


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"trian.learning_rate": 1}, ["`edgecond show`", "'trian.learning_rate'", "Did you mean train.learning_rate"]),
        ({"train.learning_rate": -1}, ["nci1/ecc", "train.learning_rate", "greater than 0", "got -1."]),
        ({"network": "C(4)-FC"}, ["nci1/ecc", "network: "]),
        ({"task": "regression"}, ["task", "'regression'", "Leave it out."]),
    ],
)
def test_a_setting_that_cannot_be_changed_is_an_error_that_names_it(changes, facts):
    with mentions(*facts, kind=RecipeError):
        with_settings(find("nci1/ecc"), changes)


def test_a_setting_needs_a_value():
    with mentions("NAME=VALUE", "train.learning_rate=0.05", "got 'epochs'.", kind=RecipeError):
        parse_settings(["epochs"])


@pytest.mark.parametrize(("name", "meant"), [("rate", "train.learning_rate"), ("train.batch", "train.batch_size")])
def test_a_part_of_a_name_is_enough_for_a_suggestion(name, meant):
    with pytest.raises(RecipeError, match=f"got '{name}'. Did you mean {meant}"):
        with_settings(find("nci1/ecc"), {name: 1})

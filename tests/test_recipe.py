"""Recipes hold together, and every number of the paper's cloud tables is rerun by exactly one row."""

from collections import Counter

import pytest

from edgecond.recipe import find, read, RecipeError, recipes

BASE = """
[base]
dataset = "toy"
network = "C(4)-MP(1,2)-GAP-FC(3)"
input = { resolution = "1/32", radius = 2 }
train = { epochs = 3, batch = 2, rate = 0.1 }
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


def claims():
    """Every claim of every row: where the number stands, and what it is in per cent."""
    for recipe in recipes().values():
        for claim in recipe.paper:
            place = claim.table if claim.table is not None else claim.section
            numbers = tuple(round(100 * value, 2) for value in claim.metrics.values())
            shared = (recipe.dataset, place, claim.row)
            yield shared if shared in BY_DATASET else (place, claim.row), numbers


def test_every_number_of_the_clouds_tables_is_claimed_by_exactly_one_row():
    found = list(claims())
    expected = {**PAPER, **BY_DATASET}

    assert {key: numbers for key, numbers in found if numbers} == expected
    assert max(Counter(key for key, _ in found).values()) == 1


def test_there_are_as_many_rows_as_the_paper_has_experiments():
    """Sydney: ECC, two radii, three identities, seven more labellings, Z, noise; ModelNet 3 + 1; MNIST 4."""
    assert Counter(recipe.dataset for recipe in recipes().values() if recipe.paper) == {
        "sydney": 15,
        "modelnet10": 3,
        "modelnet40": 1,
        "mnist": 4,
    }


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
        ("batch = 2", "bach = 2", r"row ecc: train.batch: Field required"),
        ("rate = 0.1", "rate = 0.1, speed = 3", r"row ecc: train.speed: Extra inputs"),
    ],
)
def test_a_recipe_that_does_not_hold_together_gives_a_sentence(old, new, sentence):
    with pytest.raises(RecipeError, match=sentence):
        read(BASE.replace(old, new), "toy.toml")


def test_an_unknown_row_suggests_known_ones():
    with pytest.raises(RecipeError, match=r"there is no 'sydney/widder'. Did you mean sydney/wider"):
        find("sydney/widder")

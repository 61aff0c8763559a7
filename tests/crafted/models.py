"""Models, estimators and checkpoints whose JSON or tensors ask for more than their file holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from safetensors.torch import save

from edgecond.nn.checkpoint import KEY
from tests.crafted.bases import Change, changed
from tests.crafted.files import Crafted, EITHER, READ, REFUSED

BILLION = 10**9


def recipe(**changes: Any) -> Change:
    return lambda about, _: about["model"]["recipe"].update(changes)


def about(**changes: Any) -> Change:
    return lambda content, _: content["model"].update(changes)


def tensor(name: str, value: Callable[[], torch.Tensor]) -> Change:
    return lambda _, tensors: tensors.update({name: value()})


def block(*path: str, value: Any) -> Change:
    """Replace a value in the JSON."""

    def change(content: dict[str, Any], _: object) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def both(*changes: Change) -> Change:
    return lambda content, tensors: [change(content, tensors) for change in changes]


def poolings(count: int) -> Change:
    network = "C(2)" + "".join(f"-MP({h + 1},{h + 1})" for h in range(count)) + "-GAP-FC(2)"
    return both(recipe(network=network), about(widths=[1, [3] * (count + 1)]))


BIAS = "network.layers.0.conv.bias"
LOADED: dict[str, tuple[Change, str]] = {
    # Networks larger than the file
    "hidden-layers": (recipe(hidden=[1] * 20_000), "the file has"),
    "hidden-wide": (recipe(hidden=[BILLION, BILLION]), "must be"),
    "hidden-beyond": (recipe(hidden=[2**62, 2**62]), REFUSED),
    "hidden-digits": (recipe(hidden=[10**400]), REFUSED),
    "poolings": (poolings(1500), "at most 10,000 characters"),
    "few-poolings": (poolings(40), REFUSED),
    "wide-signal": (about(widths=[BILLION, [BILLION, BILLION]]), "must be"),
    "wide-labels": (about(widths=[1, [2**63, 6]]), REFUSED),
    "many-levels": (about(widths=[1, [6] * 10**5]), REFUSED),
    "layers": (recipe(network="-".join(["C(4)"] * 100_000) + "-GMP-FC(6)"), "at most 10,000 characters"),
    "wide-layers": (recipe(network="C(1000000)-MP(0.5,1)-C(1000000)-GMP-FC(6)"), "must be"),
    "wide-output": (recipe(network="C(4)-MP(0.5,1)-C(6)-GMP-FC(1000000000)"), "have a name"),
    "digits": (recipe(network="C(" + "9" * 9000 + ")-GMP-FC(6)"), REFUSED),
    "dropouts": (recipe(network="C(4)-MP(0.5,1)-C(6)-GMP-" + "D(0.5)-" * 900 + "FC(6)"), "layers"),
    # Other settings
    "classes": (about(classes=["a"] * 10**5), "have a name"),
    "class-names": (about(classes=["a" * 10**6] * 6), READ),
    "class-escapes": (about(classes=["\x1b[31m", "\u202e", "=1+1", "", "a\nb", "\0"]), READ),
    "same-classes": (about(classes=["a"] * 6), EITHER),
    "weights": (about(objective={"weights": [1e308] * 6}), EITHER),
    "negative-weights": (about(objective={"weights": [-1.0] * 6}), EITHER),
    "seed": (about(seed=10**400), EITHER),
    "fold": (about(fold=-(10**30)), EITHER),
    "epochs": (about(epochs=10**30), EITHER),
    "nested-about": (about(more=nested(900)), EITHER),
    "nested-options": (recipe(options={"columns": nested(900)}), EITHER),
    "options-list": (recipe(options=[1]), REFUSED),
    "options-many": (recipe(options={str(k): k for k in range(10**4)}), EITHER),
    "columns": (recipe(dataset="folder", options={"columns": ["a"] * 10**5}), EITHER),
    "columns-numbers": (recipe(dataset="folder", options={"columns": [1, 2]}), "list of names"),
    "names": (recipe(dataset="folder", options={"column_names": {"x": 1}}), "table of names"),
    "up": (recipe(dataset="folder", options={"up": "w"}), "must be x, y or z"),
    "up-list": (recipe(dataset="folder", options={"up": []}), REFUSED),
    "dataset": (recipe(dataset="../../etc/passwd"), EITHER),
    "dataset-module": (recipe(dataset="os"), EITHER),
    "dataset-long": (recipe(dataset="a" * 10**6), EITHER),
    "name-long": (recipe(name="a" * 10**6), EITHER),
    "task": (recipe(task="a" * 10**6), REFUSED),
    "labels": (recipe(labels="a" * 10**6), REFUSED),
    "no-input": (recipe(input=None), REFUSED),
    "input-zero": (recipe(input={"resolution": 0, "radius": 1}), REFUSED),
    "input-minus": (recipe(input={"resolution": -1, "radius": 1}), REFUSED),
    "input-nan": (recipe(input={"resolution": float("nan"), "radius": 1}), REFUSED),
    "input-fraction": (recipe(input={"resolution": "1/0", "radius": 1}), REFUSED),
    "input-words": (recipe(input={"resolution": "a/b", "radius": 1}), REFUSED),
    "input-large": (recipe(input={"resolution": 10**400, "radius": 1}), REFUSED),
    "mesh": (recipe(input={"resolution": 0.1, "radius": 1, "edges": "mesh"}), EITHER),
    "radius-scale": (recipe(radius_scale=-1), REFUSED),
    "orientations": (recipe(orientations=10**9), REFUSED),
    "sparsifications": (recipe(sparsifications=10**9), REFUSED),
    "tries": (recipe(tries=10**9), REFUSED),
    "folds": (recipe(folds=10**30), EITHER),
    "batch-size": (recipe(train={"epochs": 1, "batch_size": 0, "learning_rate": 1}), REFUSED),
    "drops": (recipe(train={"epochs": 10**9, "batch_size": 1, "learning_rate": 1, "drops": [1] * 10**5}), EITHER),
    "betas": (recipe(train={"epochs": 1, "batch_size": 1, "learning_rate": 1, "betas": [2, 2]}), REFUSED),
    "augment": (recipe(augment={"scale": 1e308, "noise": 1e308}), EITHER),
    "augment-nan": (recipe(augment={"scale": float("nan")}), REFUSED),
    "dropout": (recipe(dropout=1), REFUSED),
    "degree": (recipe(degree_factor=True), "missing"),
    "surprise": (recipe(**{"x" * 10**6: 1}), REFUSED),
    "model-list": (block("model", value=[1] * 10**5), REFUSED),
    "model-text": (block("model", value="x" * 10**6), REFUSED),
    "version": (block("version", value=10**400), "version 1"),
    "version-nested": (block("version", value=nested(900)), "version 1"),
    # Tensors
    "wrong-shape": (tensor(BIAS, lambda: torch.zeros(5)), "must be"),
    "scalar": (tensor(BIAS, lambda: torch.zeros(())), "must be"),
    "bfloat": (tensor(BIAS, lambda: torch.zeros(4).bfloat16()), "must be"),
    "integers": (tensor(BIAS, lambda: torch.zeros(4, dtype=torch.int32)), "must be"),
    "complex": (tensor(BIAS, lambda: torch.zeros(4, dtype=torch.complex64)), "must be"),
    "truth": (tensor(BIAS, lambda: torch.zeros(4, dtype=torch.bool)), "must be"),
    "float8": (tensor(BIAS, lambda: torch.zeros(4).to(torch.float8_e4m3fn)), REFUSED),
    "nan": (tensor(BIAS, lambda: torch.full((4,), torch.nan)), "must be finite"),
    "surplus": (tensor("more", lambda: torch.zeros(1)), "which nothing uses"),
    "many-tensors": (lambda _, tensors: tensors.update({f"network.{k}": torch.zeros(1) for k in range(5000)}), REFUSED),
    "empty-name": (tensor("", lambda: torch.zeros(1)), "which nothing uses"),
    "long-name": (tensor("a" * 10**5, lambda: torch.zeros(1)), "which nothing uses"),
    # Ensembles and calibration
    "members": (recipe(ensemble=3), "0 tensors of weights"),
    "members-many": (recipe(ensemble=10**9), REFUSED),
    "members-surplus": (tensor("member1.network.layers.0.conv.bias", lambda: torch.zeros(4)), "of 1 networks"),
    "members-digits": (tensor(f"member{'9' * 5000}.network.a", lambda: torch.zeros(4)), "of 1 networks"),
    "calibration-share": (recipe(calibration=2), REFUSED),
    "calibration-scores": (tensor("calibration.0", lambda: torch.arange(9).double()), READ),
    "calibration-falls": (tensor("calibration.0", lambda: torch.tensor([2.0, 1.0]).double()), "ascend"),
    "calibration-single": (tensor("calibration.0", lambda: torch.zeros(9)), "torch.float64"),
    "calibration-bfloat": (tensor("calibration.0", lambda: torch.zeros(9).bfloat16()), "torch.float64"),
    "calibration-float8": (tensor("calibration.0", lambda: torch.zeros(9).to(torch.float8_e4m3fn)), REFUSED),
    "calibration-long": (tensor("calibration.0", lambda: torch.zeros(10**6).double()), "at most 999"),
    "calibration-targets": (tensor("calibration.1", lambda: torch.zeros(9).double()), "1 tensors of calibration"),
    "calibration-nan": (tensor("calibration.0", lambda: torch.full((9,), torch.nan).double()), "must be finite"),
    "temperature": (about(objective={"temperature": [-1.0]}), "must be positive"),
    "temperatures": (about(objective={"temperature": [1.0] * 6}), "each of 1 outputs"),
    "temperature-tiny": (about(objective={"temperature": [1e-308]}), EITHER),
    "embeddings-wide": (tensor("embeddings", lambda: torch.zeros(9, 7)), "rows of 6 numbers"),
    "embeddings-many": (tensor("embeddings", lambda: torch.zeros(10**5, 6)), "2 to 1000 rows"),
    "embeddings-one": (tensor("embeddings", lambda: torch.zeros(6)), "rows of 6 numbers"),
    "embeddings": (tensor("embeddings", lambda: torch.zeros(9, 6)), READ),
    "offsets": (both(recipe(labels="one-hot"), tensor("offsets.0", lambda: torch.zeros(2, 3, 4))), "table of offsets"),
    "offsets-wide": (
        both(recipe(labels="one-hot"), *(tensor(f"offsets.{h}", lambda: torch.zeros(10**5, 3)) for h in (0, 1))),
        EITHER,
    ),
}
GRAPHS: dict[str, tuple[Change, str]] = {
    "vocabulary": (tensor("vertex_values", lambda: torch.arange(10**6)), EITHER),
    "vocabulary-falls": (tensor("vertex_values", lambda: torch.tensor([3, 2, 1])), "ascend"),
    "vocabulary-deep": (tensor("vertex_values", lambda: torch.zeros(1, 1, dtype=torch.int64)), "ascend"),
    "vocabulary-scalar": (tensor("vertex_values", lambda: torch.tensor(3)), "ascend"),
    "vocabulary-empty": (tensor("vertex_values", lambda: torch.zeros(0, dtype=torch.int64)), EITHER),
    "vocabulary-edges": (tensor("edge_values", lambda: torch.arange(10**5)), EITHER),
    "units": (tensor("vertex_attributes.mean", lambda: torch.zeros(10**5).double()), REFUSED),
    "units-zero": (
        both(*(tensor(f"vertex_attributes.{w}", lambda: torch.zeros(3).double()) for w in ("mean", "scale"))),
        REFUSED,
    ),
    "units-wide": (
        both(*(tensor(f"vertex_attributes.{w}", lambda: torch.ones(10**5).double()) for w in ("mean", "scale"))),
        EITHER,
    ),
    "units-tiny": (
        both(
            tensor("vertex_attributes.mean", lambda: torch.zeros(3).double()),
            tensor("vertex_attributes.scale", lambda: torch.full((3,), 5e-324).double()),
        ),
        EITHER,
    ),
    "unpooled": (recipe(network="C(4)-C(4)-GAP-FC(2)"), REFUSED),
    "sparsifications": (recipe(sparsifications=1000), READ),
    "tries": (recipe(tries=1000), READ),
    "clouds": (recipe(input={"resolution": 1, "radius": 1}), EITHER),
    "labels": (recipe(labels="one-hot"), REFUSED),
    "molecules": (recipe(dataset="smiles"), EITHER),
}
PREDICTED: dict[str, Change] = {
    "all-pairs": recipe(input={"resolution": 1e-9, "radius": 1e9}),
    "one-voxel": recipe(input={"resolution": 1e9, "radius": 1e9}),
    "tiny": recipe(input={"resolution": 1e-300, "radius": 1e-300}),
    "tiny-radius": recipe(input={"resolution": 0.1, "radius": 1e-300}),
    "large": recipe(input={"resolution": 1e300, "radius": 1e300}),
    "infinite-radius": both(recipe(radius_scale=1e300), recipe(input={"resolution": 0.1, "radius": 1e300})),
    "subnormal": recipe(input={"resolution": 5e-324, "radius": 5e-324}),
    "pooling-tiny": recipe(network="C(4)-MP(1e-300,1e300)-C(6)-GMP-FC(6)"),
    "pooling-large": recipe(network="C(4)-MP(1e300,1e-300)-C(6)-GMP-FC(6)"),
    "batch-size": recipe(train={"epochs": 1, "batch_size": 10**18, "learning_rate": 1}),
    "orientations": recipe(orientations=1000),
    "mesh": recipe(input={"resolution": 0.1, "radius": 1, "edges": "mesh"}),
    "folder": recipe(dataset="folder", options={"columns": ["column 4"] * 3}),
    "folder-names": recipe(dataset="folder", options={"columns": [], "column_names": {"x": "\0"}}),
    "nowhere": recipe(dataset="nowhere"),
    "weights": lambda _, tensors: [tensors[name].fill_(3e38) for name in tensors if tensors[name].is_floating_point()],
    "objective": about(objective={"weights": [1e308] * 6}),
}
SCENES = {"dataset": "scenes", "task": "segmentation"}
EVALUATED: dict[str, tuple[Change, str]] = {
    "train": (recipe(options={"train": 10**9}), "at most"),
    "test": (recipe(options={"test": 10**9}), "at most"),
    "points": (recipe(options={"points": 10**9}), "at most"),
    "product": (recipe(options={"test": 10**4, "points": 10**6}), "at most"),
    "noise": (recipe(options={"noise": 1e308, "test": 1}), EITHER),
    "minus": (recipe(options={"points": -1}), "must be from 0"),
    "none": (recipe(options={"test": 0}), REFUSED),
    "seed": (recipe(options={"seed": 10**400}), EITHER),
    "seed-minus": (recipe(options={"seed": -1}), REFUSED),
    "truth": (recipe(options={"points": True}), EITHER),
    "nan": (recipe(options={"noise": float("nan")}), REFUSED),
    "unknown": (recipe(options={"path": "/etc/passwd"}), "has no option"),
    "density": (recipe(dataset="scenes", options={"density": 1e9}), "at most"),
    "density-infinite": (recipe(dataset="scenes", options={"density": 1e308}), REFUSED),
    "spacing": (recipe(dataset="digits", options={"spacing": 1e300}), REFUSED),
    "fold": (about(fold=10**30), "numbered from 0"),
    "fold-minus": (about(fold=-1), "numbered from 0"),
    "user-data": (recipe(dataset="folder", options={"columns": []}), REFUSED),
}
PARAMS = ("model", "estimator", "params")
ESTIMATORS: dict[str, tuple[Change, str]] = {
    "list": (block("model", "estimator", value=[]), REFUSED),
    "nested": (block("model", "estimator", value=nested(900)), REFUSED),
    "settings": (block(*PARAMS, "settings", value={"a": nested(900)}), EITHER),
    "parameters": (block("model", "estimator", "params", value={str(k): k for k in range(10**4)}), "no parameter"),
    "parameter-name": (block(*PARAMS, "x" * 10**6, value=1), "no parameter"),
    "epochs": (block(*PARAMS, "epochs", value=10**400), EITHER),
    "views": (block(*PARAMS, "views", value=10**9), EITHER),
    "network": (block(*PARAMS, "network", value="x" * 10**6), EITHER),
    "device": (block(*PARAMS, "device", value="x" * 10**6), EITHER),
    "device-escape": (block(*PARAMS, "device", value="cuda:99"), EITHER),
    "seed": (block(*PARAMS, "random_state", value=10**400), EITHER),
    "self": (block(*PARAMS, "self", value=1), REFUSED),
    "type": (block("model", "estimator", "targets", "dtype", value="<U1000000000"), "type of its classes"),
    "type-long": (block("model", "estimator", "targets", "dtype", value="f8," * 10**5), REFUSED),
    "type-record": (block("model", "estimator", "targets", "dtype", value="(1000000000,)f8"), REFUSED),
    "classes": (block("model", "estimator", "targets", "classes", value=["a"] * 10**6), REFUSED),
    "class-digits": (block("model", "estimator", "targets", "classes", value=[10**400, 1]), REFUSED),
    "width": (block("model", "estimator", "form", "clouds", "width", value=10**9), REFUSED),
    "columns": (block("model", "estimator", "form", "clouds", "columns", value=["a"] * 10**5), EITHER),
    "forms": (block("model", "estimator", "form", value={str(k): {} for k in range(10**4)}), REFUSED),
    "graph-form": (block("model", "estimator", "form", value={"graphs": {"vertex_attributes": 10**9}}), REFUSED),
    "history": (block("model", "estimator", "history", value=[{"epoch": 1}] * 10**5), REFUSED),
    "history-nested": (block("model", "estimator", "history", value=nested(900)), REFUSED),
}
CHECKPOINTS: dict[str, tuple[Change, str]] = {
    "epoch": (block("position", "epoch", value=10**9), "--restart"),
    "batch": (block("position", "batch", value=10**30), "--restart"),
    "position": (block("position", value=nested(900)), "--restart"),
    "seconds": (block("seconds", value=10**400), "--restart"),
    "seconds-nan": (block("seconds", value=float("nan")), "--restart"),
    "sums": (block("sums", value=[0.0] * 10**6), "--restart"),
    "history": (
        block("history", value=[{"epoch": k + 1, "loss": 1.0, "learning_rate": 1.0} for k in range(10**4)]),
        "--restart",
    ),
    "history-epoch": (block("history", value=[{"epoch": 10**30, "loss": 0, "learning_rate": 1}]), "--restart"),
    "settings": (block("settings", value={"recipe": {}}), "--restart"),
    "settings-nested": (block("settings", "recipe", value={"train": nested(900)}), "--restart"),
    "settings-many": (block("settings", "recipe", value={str(k): 1 for k in range(10**4)}), "--restart"),
    "momentum": (tensor("momentum.layers.0.conv.bias", lambda: torch.zeros(10**6)), "--restart"),
    "network": (tensor("network.more", lambda: torch.zeros(1)), "--restart"),
    "model": (block("model", value={}), EITHER),
}


def with_json(text: str) -> bytes:
    return save({"a": torch.zeros(1)}, {KEY: text})


TEXTS: dict[str, Callable[[], bytes]] = {
    "brackets": lambda: with_json("[" * 10**6),
    "braces": lambda: with_json('{"a":' * 10**5),
    "lists": lambda: with_json("[" + "[]," * 10**6 + "[]]"),
    "numbers": lambda: with_json("[" + "1," * 10**6 + "1]"),
    "digits": lambda: with_json('{"version": ' + "9" * 10**5 + "}"),
    "nan": lambda: with_json("NaN"),
    "surrogates": lambda: with_json(json.dumps({"version": 1, "model": {"recipe": {"name": "\ud800"}}})),
    "empty": lambda: with_json(""),
    "other": lambda: save({"a": torch.zeros(1)}, {"format": "pt"}),
    "no-tensors": lambda: save({}, {KEY: json.dumps({"version": 1, "model": {}})}),
    "same-keys": lambda: with_json('{"version": 1, "version": 2}'),
}


def _files(family: str, kind: str, reader: str, changes: dict[str, tuple[Change, str]]) -> list[Crafted]:
    return [
        Crafted(f"{family}-{name}.safetensors", reader, partial(changed, kind, change), fact)
        for name, (change, fact) in changes.items()
    ]


FILES = [
    *_files("model", "clouds", "model", LOADED),
    *_files("graph-model", "graphs", "predict", GRAPHS),
    *_files("predict", "clouds", "predict", {name: (change, EITHER) for name, change in PREDICTED.items()}),
    *_files("evaluate", "clouds", "evaluate", EVALUATED),
    *_files("estimator", "rows", "estimator", ESTIMATORS),
    *_files("checkpoint", "checkpoint", "checkpoint", CHECKPOINTS),
    *(Crafted(f"json-{name}.safetensors", "model", make) for name, make in TEXTS.items()),
]

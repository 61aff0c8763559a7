"""The graph datasets of Table 3: NCI1, NCI109, MUTAG, ENZYMES and D&D (Section 4.3)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from edgecond.data.datasets.fetching import obtain, Source, sum_is
from edgecond.data.datasets.matlab import rewrite
from edgecond.data.datasets.public_folds import FAIR, FOLDS, train_test
from edgecond.data.formats import tu
from edgecond.data.graphs import GraphExamples
from edgecond.errors import DataError
from edgecond.files import AGAIN, data_directory, Progress

__all__ = ["FOLDS", "fetch", "load"]

DIGESTS = {
    "nci1": "f88330fc3f9e88d1148805ba52cd1f2ef20c3453bea45795989defdab13d38ef",
    "nci109": "dc4efbc1ed7cf51a6a13f0d8032af3b737db32d2e40274cd49c4f4b3f13a2e67",
    "mutag": "5b837c36f9152de2e86a6ad0bf6c8acbabc7a56462773af483ebbcaf1aff8712",
    "mutag11": "d363c4cc5a1481712f10ee07fed05b082f066e7fef56df417f4dab2a50e780d1",
    "enzymes": "eefb57908664501ed6c76d98b324219c659d9519d04ec55db4950681e0418021",
    "dd": "ed6bc206e6a34aa0c17850bf4a227096536c5664d0681241f31d9a7c64e58005",
}
_TU = "https://www.chrsmrrs.com/graphkerneldatasets/"
_GITHUB = "https://raw.githubusercontent.com/"
_MATLAB = {  # for datasets without edge labels in TU
    "nci1": Source(
        "raw/NCI1.mat",
        f"{_GITHUB}muhanzhang/pytorch_DGCNN/master/data/NCI1/NCI1.mat",
        sum_is("03b8244bdbc6614d319e2449c130012e057b19a366d9f14bca4d72037f43a831"),
        most=2**22,
    ),
    "nci109": Source(
        "raw/NCI109.mat",
        f"{_GITHUB}muhanzhang/pytorch_DGCNN/master/data/NCI109/NCI109.mat",
        sum_is("abaa247ce14782f8104088dce2ebf3ad5b66a0a005164093bc52e1ab5b53054e"),
        most=2**22,
    ),
    "mutag11": Source(
        "raw/MUTAG.mat",
        f"{_GITHUB}muhanzhang/DGCNN/master/data/raw_data/MUTAG.mat",
        sum_is("192c858362e0e93c5f1da7b4737960b58a21b807efe3403324e1aed2eff91e48"),
        most=2**22,
    ),
}
_FAIR = {  # SHA-256 sums of the folds of Errica et al.
    "nci1": "1c961b85422fb557edade036f614869bb996323efd21dbfa4b40ff1b80304924",
    "enzymes": "105daf1c521fbbb05c1500fba13446d74d7d2a85d385b8e4b1f08b4b4e00541a",
    "dd": "3acb1dbb1c7d52d019be2996ba52b9e1e7e9410eb5a84aad2eff766392aba8a8",
}


def load(fold: int = 0, *, dataset: str = "nci1", split: str = "stratified") -> tuple[GraphExamples, GraphExamples]:
    """Load the training and test graphs of one fold.

    Args:
        fold: Number of the fold, 0 to 9.
        dataset: Name of the dataset, one of `tu.RELEASES`.
        split: Kind of split: `stratified`, `dgcnn`, `fair` or `fair-selection`; see `public_folds.train_test`.
    """
    train, test = train_test(dataset, split, fold)
    graphs = tu.load(dataset)
    return GraphExamples(graphs, train), GraphExamples(graphs, test)


def fetch(progress: Progress | None = None, *, dataset: str = "nci1") -> str:
    """Verify the files of a dataset and of its public folds by Errica et al., and download those that are missing.

    MUTAG, ENZYMES and D&D come from TU. There NCI1 and NCI109 have no edge labels, and MUTAG has 4 instead of 11; these
    are converted from the MATLAB files of Shervashidze et al., which hold the same graphs in the same order. A file is
    verified by its contents, however they are packed.
    """
    folder, path = data_directory() / "tu", tu.place_of(dataset)
    matlab = None if path.exists() else _MATLAB.get(dataset)
    if matlab:
        obtain(dataset, [matlab], progress, folder)
        rewrite(folder / matlab.file, path, check=matlab.check, renumber=dataset == "mutag11")
    sources = [Source(path.name, f"{_TU}{path.stem}.zip", partial(_check, dataset), most=2**25)]
    if dataset in _FAIR:
        address = f"diningphil/gnn-comparison/master/data_splits/CHEMICAL/{path.stem}_splits.json"
        sources.append(Source(FAIR.format(path.stem), _GITHUB + address, sum_is(_FAIR[dataset]), most=2**20))
    summary = obtain(dataset, sources, progress, folder)
    return f"{dataset} is in {folder}: {path.name} converted from {matlab.file} and verified." if matlab else summary


def _check(dataset: str, path: Path) -> None:
    if (actual := tu.read_release(dataset, path).digest) != DIGESTS[dataset]:
        raise DataError(f"the contents of {path} must have the digest {DIGESTS[dataset]}: found {actual}.{AGAIN}")

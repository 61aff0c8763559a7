"""The page of the docs and the tables of the README are generated from the records."""

import re

import pytest

pytest.importorskip("torch_geometric")

from benchmarks import page, readme, records

LAYERS = records.read(records.LAYERS)
NETWORKS = {
    "sydney/ecc": {
        "date": "2026-11-15",
        "seed": 0,
        "processor": "an abacus",
        "kernels": "avx2",
        "versions": {"torch": "2.13.0"},
        "network": "C(16)-GAP-FC(14)",
        "batch": 32,
        "memory": {"NNConv": 900 * 2**20, "ECConv": 20 * 2**20},
        "time": {
            threads: {
                "batches": 20,
                "vertices": [8000.0],
                "edges": [60000.5],
                "build_milliseconds": 50.0,
                "step_milliseconds": {"NNConv": 1950.0, "ECConv": 150.0},
                "step_times_faster": 13.0,
                "times_faster": 10.0,
                "build_share": 0.25,
                "waiting_share": 0.0123,
            }
            for threads in ("1", "2")
        },
    }
}


def test_the_page_is_that_of_the_records():
    """`make bench` writes both; nobody edits the page by hand."""
    others = map(records.read, (records.NETWORK, records.PYRAMIDS, records.PREDICT, records.MODELS, records.SCANS))
    assert page.PAGE.read_text() == page.page(LAYERS, *others)


def test_the_tables_of_the_readme_and_of_the_page_on_molecules_are_those_of_the_records():
    """`python -m benchmarks.readme` writes them."""
    for written, tables in readme.tables().items():
        text = written.read_text()

        assert readme.filled(text, tables) == text


def test_a_network_has_a_section_and_a_line():
    written, line = page.page(LAYERS, NETWORKS), readme.speed(LAYERS, NETWORKS).splitlines()[-1]

    assert "## Training step of sydney/ecc" in written
    assert "| faster, graph building included | 10.0x | 10.0x |" in written
    assert "| share of waiting for graphs, one worker | 1.2% | 1.2% |" in written
    assert "20 MiB, and 900 MiB on `NNConv`, 45.0x as much" in written
    assert re.search(r"sydney/ecc.*\| 10x faster \| 10x faster \| 20 MiB instead of 900 \|$", line)


def test_without_its_record_the_network_is_left_out():
    assert "Training step" not in page.page(LAYERS, {})
    assert page.page(LAYERS, NETWORKS).startswith(page.page(LAYERS, {}))

"""The README and the documentation are right: code runs, outputs are those shown, links lead to files."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import edgecond
from docs.hooks import mathml, options, results
from edgecond.paper.tables import entries, tables
from tests.documents import blocks, PAGES, parse, Reader, ROOT, RUN

RUNNING = [page for page in PAGES if any(block.kind in RUN for block in blocks(page))]
ALL = [block for page in PAGES for block in blocks(page)]

NEEDS = {
    "torch_geometric": "torch_geometric",
    "graph_to_pyg": "torch_geometric",
    "rdkit": "rdkit",
    "onnxruntime": "onnxruntime",
    "edgecond report": "plotly",
    "edgecond plot": "matplotlib",
    "edgecond tune": "optuna",
}
"""Optional libraries that a page needs, by a text in its blocks."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUNNING, ids=name)
def test_the_blocks_of_a_page_run_and_print_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for text, library in NEEDS.items():
        if any(text in block.text.lower() for block in blocks(page) if not block.not_run):
            pytest.importorskip(library)
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RAY_ADDRESS", "local")  # a cluster of another test may end while Ray attaches to it
    (tmp_path / "page").mkdir()
    monkeypatch.chdir(tmp_path / "page")

    Reader().follow(page)


@pytest.mark.parametrize("shown", ["3", "2 1", "two"])
def test_an_output_that_is_not_the_one_shown_is_noticed(shown: str, tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(f"```python\nprint(1 + 1)\n```\n\n```text\n{shown}\n```\n")

    with pytest.raises(AssertionError, match=r"page\.md:1 shows"):
        Reader().follow(page)


def test_where_numbers_vary_words_are_compared(tmp_path: Path):
    page = tmp_path / "page.md"
    text = "<!-- numbers vary: by chance -->\n```python\nprint('loss 0.25')\n```\n\n```text\n{}\n```\n"

    page.write_text(text.format("loss 1.7e-3"))
    assert Reader().follow(page) == 1

    page.write_text(text.format("accuracy 0.25"))
    with pytest.raises(AssertionError, match="shows"):
        Reader().follow(page)


def test_few_blocks_are_not_run_and_each_has_a_reason():
    left_out = [block for block in ALL if block.kind in RUN and block.not_run]
    running = [block for block in ALL if block.kind in RUN and not block.not_run]

    assert all(len(block.not_run) > 10 for block in left_out)
    assert len(left_out) <= len(running) / 6, [str(block) for block in left_out]


def test_every_block_names_its_language():
    assert [str(block) for block in ALL if not block.kind] == []


def test_the_command_line_accepts_the_commands_that_are_not_run():
    lines = [line for block in ALL if block.not_run for line, _ in block.commands()]

    assert lines
    for line in lines:
        parse(line)


def test_the_scripts_for_slurm_are_scripts():
    """`bash -n` reads a script without running it; each passes its arguments to edgecond."""
    scripts = [block.text for block in blocks(ROOT / "docs/cluster.md") if block.kind == "bash"]

    assert len(scripts) == 3
    for text in scripts:
        assert text.startswith("#!/bin/bash\n#SBATCH ")
        assert re.search(r'edgecond "\$@"', text)
        assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


def test_every_verb_that_a_page_names_exists():
    from edgecond.cli import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = {verb for page in PAGES for verb in re.findall(r"`edgecond (\w+)", page.read_text("utf-8"))}

    assert named
    assert named <= known


def test_make_demo_runs_edgecond_demo():
    makefile = (ROOT / "Makefile").read_text("utf-8")

    assert re.search(r"^demo:.*\n\t@\$\(BIN\)/edgecond demo$", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_of_a_page_lead_to_files(page: Path):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    local = [link for link in links if not link.startswith("http") and not link.endswith(".svg")]

    assert [link for link in local if not (page.parent / link).exists()] == []


def test_code_on_a_page_fits_its_column():
    """84 characters are what the site shows beside its two menus."""
    code = [block for block in ALL if block.kind in ("python", "sh") and block.page.name != "README.md"]

    assert [line for block in code for line in block.text.splitlines() if len(line) > 84] == []


def test_the_results_page_has_every_number_of_the_paper_that_a_recipe_reruns():
    page = (ROOT / "docs/results.md").read_text("utf-8")

    built = results.on_page_markdown(page)

    sections = dict(re.findall(r"## Table (\d+):(.*?)(?=\n## |\Z)", built, re.DOTALL))
    assert sorted(map(int, sections)) == tables()
    for number in tables():
        for entry in entries(number, ROOT / "results"):
            assert f"| `{entry.recipe.name}` | " in sections[str(number)]
            assert f" | {entry.written(entry.paper)} | " in sections[str(number)]


def test_the_results_page_shows_every_picture_that_is_drawn_for_it(monkeypatch: pytest.MonkeyPatch):
    """One per table, and the filters and the robustness where they have been measured."""
    pytest.importorskip("matplotlib")
    drawn: list[str] = []
    monkeypatch.setattr(results.plots, "rendered", lambda figure, ending: b"")
    monkeypatch.setattr(results.File, "generated", lambda config, path, content: drawn.append(path))

    results.on_files([], None)

    page = results.on_page_markdown((ROOT / "docs/results.md").read_text("utf-8"))
    assert re.findall(r"\]\(([\w/-]+\.svg)\)", page) == drawn
    assert [f"pictures/table-{number}.svg" for number in tables()] == drawn[: len(tables())]


def test_a_number_without_a_rerun_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(results, "RECORDS", tmp_path)

    assert results.table(1).count("| not yet |") == 3  # the rows of Table 1 that are ours to rerun: ECC at three radii
    assert (
        results.state()
        == f"**Of {sum(len(entries(n, tmp_path)) for n in tables())} numbers, 0 have been rerun, and 0 in part.**"
    )


def test_every_name_of_the_reference_exists_and_every_public_name_is_in_it():
    page = (ROOT / "docs/reference.md").read_text("utf-8")
    sections = re.findall(r"^::: ([\w.]+)\n    options:\n      members: \[(.*)\]$", page, re.MULTILINE)
    documented = {(module, name) for module, names in sections for name in names.split(", ")}

    assert len(sections) == page.count("\n:::")
    assert [pair for pair in documented if not hasattr(importlib.import_module(pair[0]), pair[1])] == []
    assert set(edgecond.__all__) - {"__version__"} <= {name for _, name in documented}


@pytest.mark.slow
def test_a_line_breaks_between_options_and_not_in_them():
    """Only whole words that begin with a hyphen are kept together, and blocks of code stay as they are."""
    page = "<code>--set a-b=1</code> <pre><code>--set</code></pre>"

    expected = '<code><span class="option">--set</span> a-b=1</code> <pre><code>--set</code></pre>'
    assert options.on_page_content(page) == expected


def test_bars_enclose_what_is_between_them_in_formulas():
    """MathML's operator dictionary: a bar has no space inside only if its form, prefix or postfix, is given."""
    enclosed = mathml.spaced("<mo>&#x02016;</mo><mi>x</mi><mo>&#x02016;</mo><mi>ln</mi><mi>n</mi>")

    opening, closing = (f'<mo form="{form}" stretchy="false">&#x02016;</mo>' for form in ("prefix", "postfix"))
    assert enclosed == f'{opening}<mi>x</mi>{closing}<mi>ln</mi><mspace width="0.17em"></mspace><mi>n</mi>'
    assert mathml.spaced("<mo>&#x0007C;</mo>") == "<mo>&#x0007C;</mo>"  # alone it encloses nothing


def test_the_site_is_built_without_a_warning_and_asks_nothing_of_other_servers(tmp_path: Path):
    pytest.importorskip("mkdocstrings")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]

    done = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )

    assert done.returncode == 0, done.stdout + done.stderr
    pages = [page.read_text("utf-8") for page in tmp_path.rglob("*.html")]
    assert len(pages) >= len(PAGES) - 1  # all but the README
    assert not any(
        re.search(r"<(?:script|img|iframe)[^>]* src=\"?http|<link[^>]*stylesheet[^>]*http", page) for page in pages
    )
    assert not any("arithmatex" in page for page in pages)  # every formula is MathML,
    unknown = [re.findall(r"<m[ino]>[^<]*\\[^<]*", page) for page in pages]
    assert [commands for commands in unknown if commands] == []  # ... and the converter knew all of its commands

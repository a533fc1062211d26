"""The guide, `docs/guide`: its code runs, and gives the output and the drawings that it shows.

How a chapter is read:

- Blocks in ``python`` run in order, in one namespace, in an empty folder.
- A block in ``r`` is a whole script in DML, which runs through ``fl.dml``.
- ``needs:MODULE`` behind the language leaves out the rest of the chapter where there is no such module.
- ``raises:CLASS`` expects an exception, whose class and message end the output.
- What a block prints is the block ``text output`` that follows it, where one does; ``...`` in it stands for anything, and
  long lines are broken.
- ``![...](NAME.svg)`` shows what the variable NAME of the chapter draws: an array, or what `fl.explain` gives. Drawings are
  compared but for positions and times. Run as a program, this file writes them. A name with a hyphen, which no variable
  has, is that of another picture.
- Blocks in ``rust`` are tests of the library's documentation, and only looked at here; those in other languages are not run.
"""

import contextlib
import doctest
import importlib
import io
import os
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import pytest

import fuseline as fl

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "src"
CHAPTERS = sorted(GUIDE.glob("*.md"))
LANGUAGES = {"python", "r", "rust", "sh", "text", "toml"}

pytestmark = pytest.mark.skipif(not CHAPTERS, reason="the guide is part of a clone alone")


class Block(NamedTuple):
    language: str
    options: list[str]
    text: str
    line: int
    output: str | None

    def option(self, name):
        """What stands behind the colon of an option; `None` where the block lacks it."""
        return next((option.removeprefix(f"{name}:") for option in self.options if option.startswith(f"{name}:")), None)


def blocks(chapter):
    """The blocks of code of a chapter, with their outputs."""
    found = []
    for match in re.finditer(r"^```(.*)\n((?:(?!```).*\n)*)^```$", chapter.read_text(), re.M):
        language, *options = match[1].split() or [""]
        if (language, options) == ("text", ["output"]):
            assert found and found[-1].output is None, f"{chapter.name}: an output that no block gives"
            found[-1] = found[-1]._replace(output=match[2])
        else:
            line = chapter.read_text()[: match.start()].count("\n") + 2
            found.append(Block(language, options, match[2], line, None))
    return found


def run(chapter, block, namespace):
    """Runs a block, and gives what it prints."""
    printed, raised = io.StringIO(), block.option("raises")
    # Lines are those of the chapter, so that tracebacks and messages name them.
    code = None if block.language == "r" else compile("\n" * (block.line - 1) + block.text, str(chapter), "exec")
    with contextlib.redirect_stdout(printed):
        try:
            if code is None:
                fl.dml(block.text)
            else:
                exec(code, namespace)
        except Exception as error:
            if type(error).__name__ != raised:
                raise
            print(f"{type(error).__name__}: {error}")
            return printed.getvalue()
    assert raised is None, f"{chapter.name}:{block.line}: raises nothing"
    return printed.getvalue()


def run_chapter(chapter, check):
    """Runs the blocks of a chapter, shows the output of each to `check`, and gives the variables."""
    namespace = {"__name__": "__main__"}
    for block in blocks(chapter):
        if block.language not in ("python", "r"):
            continue
        if needed := block.option("needs"):
            try:
                importlib.import_module(needed)
            except ImportError as error:
                pytest.skip(f"from line {block.line} on, {chapter.name} needs {needed}: {error}")
        check(block, run(chapter, block, namespace))
    return namespace


def drawings(chapter):
    """The drawings that a chapter shows, by the names of variables."""
    return re.findall(r"!\[[^]]*\]\((\w+)\.svg\)", chapter.read_text())


def structure(svg):
    """The elements of a drawing with their texts, without positions and times."""
    time = r"\b[0-9.]+(?:e-?\d+)? (?:s|ms|us|ns)\b"
    look = ("class", "fill", "stroke")
    return [
        (element.tag, [element.get(name) for name in look], re.sub(time, "TIME", (element.text or "").strip()))
        for element in ElementTree.fromstring(svg).iter()
    ]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_chapter(chapter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

    def check(block, printed):
        if block.output is not None and not checker.check_output(block.output, printed, flags):
            pytest.fail(f"{chapter.name}:{block.line}: the guide shows\n{block.output}\nand not\n{printed}")

    namespace = run_chapter(chapter, check)
    for name in drawings(chapter):
        shown = (GUIDE / f"{name}.svg").read_text()
        assert structure(shown) == structure(namespace[name]._repr_svg_()), f"run {Path(__file__).name} to draw {name}"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_form(chapter):
    """Languages, Rust that rustdoc takes, links, and lengths of lines."""
    text = chapter.read_text()
    assert text.count("\n```") == 2 * len(re.findall(r"^```\w.*\n(?:(?!```).*\n)*^```$", text, re.M))
    for block in blocks(chapter):
        assert block.language in LANGUAGES, f"{chapter.name}:{block.line}"
        if block.language == "rust":
            assert block.text.startswith("use fuseline::") and block.text.endswith("\n# Ok::<(), fuseline::Error>(())\n")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (GUIDE / link).exists(), f"{chapter.name}: {link}"
    for number, line in enumerate(text.splitlines(), 1):
        assert len(line) <= 120 and line == line.rstrip(), f"{chapter.name}:{number}"


def test_all_chapters_are_in_the_summary():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (GUIDE / "SUMMARY.md").read_text())
    assert sorted([*listed, "SUMMARY.md"]) == [chapter.name for chapter in CHAPTERS]


if __name__ == "__main__":
    for chapter in CHAPTERS:
        if names := drawings(chapter):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                variables = run_chapter(chapter, lambda block, printed: None)
            for name in names:
                (GUIDE / f"{name}.svg").write_text(variables[name]._repr_svg_())

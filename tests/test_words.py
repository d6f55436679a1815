"""README, documentation, help texts, messages and docstrings are in plain words and British spelling."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAIN = {  # what to avoid: what to write
    r"told (right|wrong|from)": "classified correctly, wrongly; distinguished from",
    r"news of": "progress, log",
    r"learnt": "learned",
    r"whilst|amongst": "while, among",
    r"anew": "again, new",
    r"whoever": "anyone who",
    r"lest|hitherto|thereof|therein|thereby|wherein|whereby|thence|whence|henceforth|aforementioned": "a plain word",
    r"thousand millions?": "billion",
    r"(events|rows|units|recordings|bytes) an? (second|event|class|recording|pixel)": "per",
    r"one (row|unit|line|file|object) an? (event|class|recording|line)": "per",
    r"(is|are|were) none any more": "no longer",
    r"kept back|put by": "held out",
    r"behavior|neighbor\w*|favor\w*|analyz\w*|optimiz\w*|normaliz\w*|generaliz\w*|recogniz\w*|initializ\w*": "British",
}
AVOID = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): plain for words, plain in PLAIN.items()}
CODE = re.compile(r"```(?!{).*?```|``.*?``|`[^`\n]*`|\]\([^)]*\)|^ {4,}.*?$", re.DOTALL | re.MULTILINE)


def pages():
    yield from (
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "benchmarks/README.md")
    )
    yield from sorted((ROOT / "docs").glob("*.md"))
    yield from sorted((ROOT / "docs" / "howto").glob("*.md"))


def texts(source):
    """Texts of two words or more: docstrings, help, messages. Single words are names and values."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, re.sub(r"``.*?``|`[^`\n]*`", "", node.value)


def found(text):
    return [f"{match[0]!r} ({plain})" for avoid, plain in AVOID.items() for match in avoid.finditer(text)]


def test_pages_are_in_plain_words():
    bad = {page.name: found(CODE.sub("", page.read_text())) for page in pages()}
    assert {name: words for name, words in bad.items() if words} == {}


def test_texts_of_the_source_are_in_plain_words():
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {', '.join(words)}"
        for folder in ("src", "docs/gallery", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in texts(path.read_text())
        if (words := found(text))
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("text", ["95 % told right", "Learnt online", "two events a second", "it recognizes digits"])
def test_words_to_avoid_are_found(text):
    assert found(text)


@pytest.mark.parametrize(
    "text", ["events per second", "the smallest unit", "news is a word", "a second unit a class has"]
)
def test_other_words_are_not(text):
    assert not found(text)

"""Pages, help texts, messages, docstrings, the live page and the gallery are in plain words and British spelling."""

import ast
import io
import re
import tokenize
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAIN = {  # what to avoid: what to write
    r"told (right|wrong|from)": "classified correctly, wrongly; distinguished from",
    r"news of": "progress, log",
    r"learnt": "learned",
    r"whilst|amongst": "while, among",
    r"anew": "again, new",
    r"dies": "fails, ends",
    r"say it and end": "show ... and exit",
    r"who turns out": "that turns out",
    r"whoever": "anyone who",
    r"lest|hitherto|thereof|therein|thereby|wherein|whereby|thence|whence|henceforth|aforementioned": "a plain word",
    r"thousand millions?": "billion",
    r"(events|rows|units|recordings|bytes) an? (second|event|class|recording|pixel)": "per",
    r"one (row|unit|line|file|object) an? (event|class|recording|line)": "per",
    r"(is|are|were) none any more": "no longer",
    r"kept back|put by": "held out",
    r"behavior|neighbor\w*|favor\w*|analyz\w*|optimiz\w*|normaliz\w*|generaliz\w*|recogniz\w*|initializ\w*": "British",
    r"colors?|colored|coloring|centers?|centered|centering|organiz\w*|minimiz\w*|maximiz\w*": "British",
}
AVOID = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): plain for words, plain in PLAIN.items()}
CODE = re.compile(r"```(?!{).*?```|``.*?``|`[^`\n]*`|\]\([^)]*\)|^ {4,}.*?$", re.DOTALL | re.MULTILINE)


def pages():
    yield from (
        ROOT / name
        for name in (
            "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "benchmarks/README.md",
            "docs/gallery/GALLERY_HEADER.rst",
        )
    )  # fmt: skip
    yield from sorted((ROOT / "docs").glob("*.md"))
    yield from sorted((ROOT / "docs" / "howto").glob("*.md"))
    yield from sorted((ROOT / ".github").glob("*.md"))
    yield from sorted((ROOT / ".github" / "ISSUE_TEMPLATE").iterdir())


def prose(page):
    """What a page says, without code; forms in YAML have all of it in keys that are indented."""
    text = page.read_text("utf-8")
    return text if page.suffix == ".yml" else CODE.sub("", text)


def texts(source):
    """Texts of two words or more: docstrings, help, messages. Single words, and where a label goes, are values."""
    tree = ast.parse(source)
    values = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in {"loc", "ha", "va"}
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in values
        ):
            yield node.lineno, re.sub(r"``.*?``|`[^`\n]*`", "", node.value)


def prose_of_comments(source):
    """Comments of a line of their own, a block of them as one text: what the gallery shows between pictures."""
    lines = [
        (token.start[0], token.string.lstrip("# "))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    ]
    blocks = []
    for (before, _), (line, text) in pairwise([(-1, ""), *lines]):
        if line == before + 1:
            blocks[-1][1] += " " + text
        else:
            blocks.append([line, text])
    return [(line, re.sub(r"``.*?``|`[^`]*`", "", text)) for line, text in blocks]


class Shown(HTMLParser):
    """What a page of HTML shows: its texts, and attributes that are read or spoken."""

    def __init__(self, source):
        super().__init__()
        self.found = []
        self.feed(source)

    def handle_data(self, text):
        self.found.append((self.getpos()[0], text))

    def handle_starttag(self, tag, attributes):
        spoken = {"title", "aria-label", "placeholder", "alt"}
        self.found += [(self.getpos()[0], value) for name, value in attributes if name in spoken and value]


def texts_of_javascript(source):
    """Strings of two words or more, without what is put into them, and comments."""
    for line, text in enumerate(source.splitlines(), 1):
        for quoted in re.findall(r'"[^"]* [^"]*"|`[^`]* [^`]*`|(?<!:)//.*', text):
            yield line, re.sub(r"\$\{[^}]*\}", "", quoted)


def found(text):
    return [f"{match[0]!r} ({plain})" for avoid, plain in AVOID.items() for match in avoid.finditer(text)]


def test_pages_are_in_plain_words():
    bad = {page.name: found(prose(page)) for page in pages()}
    assert {name: words for name, words in bad.items() if words} == {}


def test_texts_of_the_source_are_in_plain_words():
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {', '.join(words)}"
        for folder in ("src", "docs/gallery", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in texts(path.read_text("utf-8"))
        if (words := found(text))
    ]
    assert not bad, "\n".join(bad)


def test_the_live_page_is_in_plain_words():
    folder = ROOT / "src" / "timesurf" / "live" / "page"
    shown = {"index.html": Shown((folder / "index.html").read_text("utf-8")).found}
    shown |= {path.name: [*texts_of_javascript(path.read_text("utf-8"))] for path in sorted(folder.glob("*.js"))}
    assert all(shown.values())
    bad = [f"{name}:{line}: {words}" for name, texts in shown.items() for line, text in texts if (words := found(text))]
    assert not bad, "\n".join(bad)


def test_the_gallery_is_in_plain_words():
    scripts = sorted((ROOT / "docs" / "gallery").rglob("*.py"))
    shown = {path.name: prose_of_comments(path.read_text("utf-8")) for path in scripts}
    assert all(shown.values())
    bad = [f"{name}:{line}: {words}" for name, texts in shown.items() for line, text in texts if (words := found(text))]
    assert not bad, "\n".join(bad)


def test_texts_are_found_where_they_are_shown():
    assert Shown('<p class="color">Clear <b title="Wipe">c</b>').found == [(1, "Clear "), (1, "Wipe"), (1, "c")]
    script = 'say("in the center"); fill("center"); say(`${of.center} it dies`);  // its color'
    assert [*texts_of_javascript(script)] == [(1, '"in the center"'), (1, "` it dies`"), (1, "// its color")]
    assert prose_of_comments("# %%\n# two ``colors``\nx = 1  # color\n") == [(1, "%% two ")]
    assert [*texts('legend("a b", loc="upper center")')] == [(1, "a b")]


@pytest.mark.parametrize(
    "text",
    [
        "95 % told right", "Learnt online", "two events a second", "it recognizes digits", "a worker dies",
        "the color of the center", "Say it and end.",
    ],
)  # fmt: skip
def test_words_to_avoid_are_found(text):
    assert found(text)


@pytest.mark.parametrize(
    "text", ["events per second", "the smallest unit", "news is a word", "a second unit a class has"]
)
def test_other_words_are_not(text):
    assert not found(text)

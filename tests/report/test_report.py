"""The report of a run: complete, safe, small, and interactive in a browser."""

import dataclasses
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from timesurf import Full, Network, Recordings, Window, report
from timesurf.bench.workloads import strokes
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES
from timesurf.report.findings import LONGEST, TRACED, drawn
from timesurf.report.markup import Html, tag
from timesurf.report.pictures import png, shrunk
from timesurf.results import run as runs
from timesurf.results.run import Run

HOSTILE = "<script>alert(1)</script>"
QUOTED = "\"' onmouseover='alert(2)' <b>&amp;"
EMPTY = {"img", "meta"}
BROWSER = """
--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update
--disable-sync --virtual-time-budget=3000 --enable-logging=stderr --dump-dom
"""


class Page(HTMLParser):
    """A page as its elements and its text; complains about elements that do not close."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open = [], "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in EMPTY:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data.replace("\xa0", " ") + " "

    def all(self, name, **wanted):
        return [a for n, a in self.elements if n == name and wanted.items() <= a.items()]


@pytest.fixture(scope="module")
def text_run():
    text = sentences.make(30, seed=0, duration="3 ms")
    network = SENTENCES.network(text, sentences.TASK1, 0).fit(text[:20], passes=2, validation=0.2)
    about = {
        "command": ["timesurf", "train", "sentences.npz", "--seed", "0"],
        "config": SENTENCES.to_dict(),
        "seed": 0,
        "versions": {"timesurf": "0.1.0"},
        "seconds": 75,
        "stopped": True,
        "history": network.history,
    }
    return Run(about, network, text[20:])


@pytest.fixture(scope="module")
def camera_run():
    """Ten classes and the sizes of a network for digits; layer 1 rejects, one unit is silent, one has no threshold."""
    events = strokes(30, events=500)
    network = Network([Window(9, units=32, tau="20 ms"), Full(tau="20 ms")], events.field, 1, range(10))
    network.fit(events[:10], passes=1, batch_size=5)
    threshold = network.parameters[0].thresholds
    threshold[:] = np.nanquantile(network.trace(events).distance[:, 0], 0.7)
    threshold[1], threshold[2] = 0, np.inf
    return Run({"history": network.history}, network, events[10:])


@pytest.fixture(scope="module")
def text_page(text_run):
    return Page(report.page(text_run))


@pytest.fixture(scope="module")
def camera_page(camera_run):
    return Page(report.page(camera_run))


def test_a_report_is_one_file_that_appears_whole(tmp_path, text_run):
    path = report.write(text_run, tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text(encoding="utf-8") == report.page(text_run)  # and the same run gives the same page


@pytest.mark.parametrize("which", ["text_run", "camera_run"])
def test_nothing_is_fetched_from_elsewhere(which, request):
    text = report.page(request.getfixturevalue(which))
    for name, attributes in Page(text).elements:
        assert name not in ("link", "iframe", "object", "embed", "base")
        for key in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert attributes.get(key, "#").startswith(("#", "data:image/png;base64,"))
    assert not re.search(r"@import|url\(|https?://|fetch\(|XMLHttpRequest|import\(", text)
    assert "default-src 'none'" in text


def test_a_run_of_ten_classes_stays_small(camera_run):
    assert len(report.page(camera_run).encode()) < 1e6


def test_thousands_of_recordings_make_a_report_no_larger(camera_run):
    many = camera_run.held_out[np.arange(3000) % 20]
    page = report.page(dataclasses.replace(camera_run, held_out=many))
    assert len(page.encode()) < 1e6
    assert "Figures are of all 3,000 held-out recordings" in page
    assert f"are of {TRACED} of them" in page


def test_the_figures_are_those_of_the_network(text_run, text_page):
    figures = text_run.network.evaluate(text_run.held_out)
    for name in ("recording_accuracy", "event_accuracy", "kept"):
        assert f"{100 * figures[name]:.1f} %" in text_page.text
    assert f"{figures['events']:,}" in text_page.text
    assert "1 min 15 s" in text_page.text


def test_settings_are_there_to_repeat_the_run(text_page):
    assert "timesurf train sentences.npz --seed 0" in text_page.text
    assert "rule.alpha" in text_page.text
    assert "layers.1.units" in text_page.text
    assert text_page.all("details")
    assert "Training was stopped before its end." in text_page.text


@pytest.mark.parametrize("which", ["text_page", "camera_page"])
def test_every_figure_says_how_to_read_it(which, request):
    page = request.getfixturevalue(which)
    assert len(page.all("figure")) == len(page.all("figcaption")) >= 6
    assert all(svg.get("aria-label") for svg in page.all("svg", role="img"))
    assert all("alt" in img for img in page.all("img"))


def test_every_link_inside_the_page_leads_somewhere(camera_page):
    ids = [attributes["id"] for _, attributes in camera_page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in camera_page.all("a")} <= set(ids)


def test_every_unit_of_layer_1_shows_what_it_fires_for(camera_run, camera_page):
    assert len(camera_page.all("section", **{"class": "panel"})) == 32
    trace = camera_run.network.trace(camera_run.held_out)
    mine = trace.winner[:, 0] == 3
    assert f"{mine.sum():,}, {100 * mine.mean():.1f} % of all" in camera_page.text
    assert f"{100 * (trace.passed[mine] > 0).mean():.1f} % are within its threshold" in camera_page.text
    assert "2 (silent)" in camera_page.text


def test_cells_have_count_and_share(camera_run, camera_page):
    network, held = camera_run.network, camera_run.held_out
    right = int(((network.infer(held).votes.argmax(axis=1) == held.labels) & (held.labels == 4)).sum())
    cell = camera_page.all("td", **{"class": "right"})[4]
    assert cell["data-tip"].replace("\xa0", " ") == f"4 classified correctly: {right} of 2, {50 * right:.1f} %"


def test_the_worst_come_first_and_wrong_before_right(camera_run):
    evaluated = report.gather(camera_run).evaluated
    worst = evaluated.worst()
    right = (evaluated.decided.classes == evaluated.label)[worst]
    assert sorted(right) == list(right)
    wrong = worst[~right]
    assert (np.diff(evaluated.share[wrong]) >= 0).all()
    assert f"Recording {worst[0]}: " in report.page(camera_run)


def test_hostile_labels_and_settings_are_shown_as_text():
    text = sentences.make(8, seed=0, duration="3 ms")
    names = [HOSTILE, QUOTED]
    held = text.with_labels([names[n % 2] for n in range(8)])
    network = SENTENCES.network(held, names, 0).fit(held, passes=1)
    about = {"command": HOSTILE, "config": {HOSTILE: QUOTED}, "machine": {"name": HOSTILE}}
    page = report.page(Run(about, network, held))
    parsed = Page(page)
    assert len(parsed.all("script")) == 1
    assert HOSTILE not in page
    assert not any(key.startswith("on") for _, attributes in parsed.elements for key in attributes)
    assert HOSTILE in parsed.text
    assert QUOTED in parsed.text


def test_without_held_out_recordings_it_says_what_is_missing(text_run):
    page = Page(report.page(Run({}, text_run.network, None)))
    assert "No recordings were held out" in page.text
    assert "Learning curves" in page.text
    assert "Confusion matrix" not in page.text
    saved = {"recording_accuracy": 0.875, "event_accuracy": "?"}
    page = Page(report.page(Run({"evaluation": saved}, text_run.network, text_run.held_out[:0])))
    assert "87.5 %" in page.text
    assert "event accuracy" not in page.text.split("Learning curves")[0]


def test_without_labels_it_says_what_is_missing(camera_run):
    held = camera_run.held_out
    page = Page(report.page(dataclasses.replace(camera_run, held_out=held.with_labels(np.full(20, -1)))))
    assert "have no labels, so there are no accuracies" in page.text
    assert "recording accuracy" not in page.text
    assert "classified as" in page.text
    some = held.with_labels(np.where(np.arange(20) < 5, -1, held.labels))
    assert (
        "5 of the 20 held-out recordings have no label"
        in Page(report.page(dataclasses.replace(camera_run, held_out=some))).text
    )


def test_untrained_networks_and_recordings_without_events_are_explained(text_run):
    network = SENTENCES.network(text_run.held_out, sentences.TASK1, 0).start(text_run.held_out)
    nothing = Recordings([[], []], t=[], offsets=[0, 0, 0], field=(30, 5), labels=list(sentences.TASK1))
    page = Page(report.page(Run({}, network, nothing)))
    assert "there are no passes to draw" in page.text
    assert "There is no recording to draw" in page.text


@pytest.mark.parametrize("field", [(), (12,), (5, 4, 3)])
def test_fields_that_are_no_image_are_explained_too(field, rng):
    t = np.tile(np.arange(60) * 50, 4)
    coords = [rng.integers(0, n, 240) for n in field]
    events = Recordings(
        coords, t, rng.integers(0, 3, 240), np.arange(5) * 60, field=field, polarities=3, labels=["a", "b"] * 2
    )
    layers = [Window(3, units=4, tau="1 ms"), Full(tau="1 ms")]
    network = Network(layers, field, 3, ["a", "b"]).fit(events, passes=1)
    page = Page(report.page(Run({}, network, events)))
    assert "Confusion matrix" in page.text
    assert ("not drawn" in page.text) == (len(field) not in (1, 2))


def test_recordings_are_drawn_evenly_from_the_classes_and_within_bounds():
    label = np.repeat([0, 1, 2], [5000, 50, 500])
    chosen = drawn(label, np.full(len(label), 10))
    assert np.bincount(label[chosen]).tolist() == [75, 50, 75]
    assert drawn(np.zeros(9, dtype=int), np.full(9, LONGEST // 2 - 1)).size == 2


def test_a_report_needs_no_matplotlib(tmp_path, text_run):
    runs.write(tmp_path / "run", text_run)
    code = (
        "import sys; from timesurf import report; from timesurf.results import run as runs; "
        "report.write(runs.read('run'), 'report.html'); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "False\n"
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.page(text_run)


def test_text_is_escaped_and_html_is_not():
    assert tag("p", "<b>", Html("<b/>"), title='"') == '<p title="&quot;">&lt;b&gt;<b/></p>'


def test_an_image_is_a_png_that_others_read(tmp_path):
    image = pytest.importorskip("PIL.Image")
    import base64

    data = png(np.array([[0.0, 0.5, 1.0], [np.nan, 2.0, -1.0]]), 1)
    (tmp_path / "a.png").write_bytes(base64.b64decode(data.split(",")[1]))
    with image.open(tmp_path / "a.png") as picture:
        pixels = np.array(picture.convert("RGBA"))
    assert pixels.shape == (2, 3, 4)
    assert pixels[0, 0].tolist() == [0x44, 0x01, 0x54, 255] == pixels[1, 2].tolist()
    assert pixels[0, 2].tolist() == [0xFD, 0xE7, 0x25, 255] == pixels[1, 1].tolist()
    assert pixels[1, 0, 3] == 0  # clear


def test_a_large_image_keeps_its_brightest_places():
    large = np.zeros((400, 300))
    large[399, 299] = 1
    assert shrunk(large).shape == (100, 75)
    assert shrunk(large)[-1, -1] == 1


# ------------------------------------------------------------------ in a browser


_PROBE = """
const note = (name, value) => document.body.setAttribute("data-" + name, value);
const key = (item, name) => item.dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true }));
const root = document.documentElement;
note("overflow", root.scrollWidth - root.clientWidth);
const first = document.querySelector("a.unit");
first.focus(); key(first, "ArrowRight"); key(document.activeElement, "ArrowRight"); document.activeElement.click();
note("picked", document.querySelector(".panel.picked").id);
note("stops", document.querySelectorAll('a.unit[tabindex="0"]').length);
const cell = document.querySelector("td[data-tip]");
cell.dispatchEvent(new PointerEvent("pointerenter")); note("cell", document.querySelector(".cells output").textContent);
const svg = document.querySelector("[data-points] svg");
svg.focus(); key(svg, "Home"); note("curve", svg.getAttribute("aria-valuetext"));
"""


def browse(path, folder, *options):
    """The page as a browser leaves it, and its console messages."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here to open the page in")
    done = subprocess.run(
        [browser, *BROWSER.split(), f"--user-data-dir={folder}", *options, path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Page(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_a_browser_shows_the_unit_that_the_address_names(tmp_path, camera_run):
    path = report.write(camera_run, tmp_path / "report.html")
    page, complaints = browse(f"{path.as_uri()}#unit-3", tmp_path / "browser")
    assert complaints == []
    assert [a["href"] for a in page.all("a", **{"aria-selected": "true"})] == ["#unit-3"]
    assert [a["id"] for a in page.all("section", **{"class": "panel picked"})] == ["unit-3"]


def test_a_browser_follows_keys_and_pointer_and_a_phone_need_not_scroll_sideways(tmp_path, camera_run):
    text = re.sub(r"<meta http-equiv[^>]*>", "", report.page(camera_run))
    path = tmp_path / "report.html"
    path.write_text(text.replace("</body>", f"<script>{_PROBE}</script></body>"), encoding="utf-8")
    page, complaints = browse(path.as_uri(), tmp_path / "browser", "--window-size=360,800")
    assert complaints == []
    body = page.all("body")[0]
    assert (body["data-picked"], body["data-stops"], body["data-overflow"]) == ("unit-3", "1", "0")
    assert body["data-cell"].startswith("0 classified correctly: ")
    assert body["data-curve"].startswith("pass 1: event accuracy ")

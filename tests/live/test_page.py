"""The page of `timesurf live` in a real browser: it opens, shows, learns, goes back, and lets nobody else in."""

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest

from tests.live.browser import chromium
from tests.live.strokes import DIGITS, TRIANGLE
from timesurf import Network
from timesurf.bench import workloads
from timesurf.io import npz
from timesurf.live import starter
from timesurf.live.acts import Acts
from timesurf.live.host import LONGEST, PER_SECOND, Host
from timesurf.live.show import Show

pytest.importorskip("websockets")
HOSTILE = "<img src=x onerror='document.title=1'>"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return starter.make(tmp_path_factory.mktemp("cache"), images=300, passes=4)


@pytest.fixture(scope="module")
def small():
    """A network that has learned nothing, on a sensor that is not square."""
    data = workloads.strokes(2, events=300, field=(40, 16))
    network = Network(workloads.NMNIST, data.field, data.polarities, range(10)).start(data)
    return starter.Start(network, None, None)


class Served:
    """A show and its server, in this process."""

    def __init__(self, start, out=None, files=None, held_out=None):
        self.show = Show(start.network, rehearsal=start.rehearsal)
        self.acts = Acts(self.show, files, out, held_out)
        self.host = Host(self.acts)
        self.loop, self.stop, self.up = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        self.loop.run_until_complete(self.host.serve(self.stop, self.up.set))
        self.loop.close()

    def parameters(self):
        return self.show.ask(self.show.taught).result(20).parameters

    @property
    def root(self):
        return f"http://127.0.0.1:{self.host.port}"


@contextmanager
def serving(*about, **more):
    served = Served(*about, **more)
    with served.show:
        served.thread.start()
        assert served.up.wait(20)
        try:
            yield served
        finally:
            served.loop.call_soon_threadsafe(served.stop.set)
            served.thread.join(20)
    assert served.show.error is None


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as open_tab:
        yield open_tab


def opened(browser, served):
    tab = browser(served.host.address)
    tab.wait_for("typeof network !== 'undefined' && network && acting && 'rate' in state")
    return tab


def drawn(tab, strokes):
    tab.js("clear()")
    tab.draw(*strokes)
    tab.wait_for("!stroke.length && waiting.size === 0")


def decided(tab, served, strokes):
    """What is decided after a look at the whole drawing; frames may come late, so the show itself is asked."""
    drawn(tab, strokes)
    view = served.show.view
    looks, deadline = view.recordings + 2, time.monotonic() + 30  # one may be under way
    while view.recordings < looks:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return str(view.previous)


def taught(tab, name, strokes):
    """Show a drawing while its class is held."""
    drawn(tab, strokes)
    tab.js(f"hold({json.dumps(name)})")
    tab.wait_for(f"state.label === {json.dumps(name)}")
    before = tab.js("state.events")
    tab.wait_for(f"state.events > {before} + 2000")
    tab.js(f"release({json.dumps(name)})")
    tab.wait_for("state.label === null")


def test_drawings_are_decided_symbols_are_taught_and_undone_and_models_saved_and_loaded(browser, start, tmp_path):
    out = tmp_path / "taught.tsf"
    with serving(start, out, held_out=start.held_out) as served:
        tab = opened(browser, served)
        right = [decided(tab, served, strokes) == str(digit) for digit, strokes in DIGITS.items()]
        assert sum(right) >= 9, right
        tab.wait_for("state.score")
        before = served.parameters()
        decided(tab, served, TRIANGLE)
        tab.js("$('name').value = 'triangle'; $('add').requestSubmit()")
        tab.wait_for("network.classes.includes('triangle')")
        for _ in range(5):
            taught(tab, "triangle", TRIANGLE)
        assert decided(tab, served, TRIANGLE) == "triangle"
        tab.wait_for("$('decision').children[0].textContent === 'triangle'")
        assert sum(decided(tab, served, DIGITS[digit]) == str(digit) for digit in (0, 2, 7)) >= 2
        tab.js("act('save')")
        tab.wait_for("$('says').textContent.startsWith('Saved')")
        assert Network.load(out).parameters.same(served.parameters())
        learned = served.parameters()
        for _ in range(6):
            tab.wait_for("!$('undo').disabled")
            count = tab.js("state.undo")
            tab.js("$('undo').click()")
            tab.wait_for(f"state.undo === {count} - 1")
        assert served.parameters().same(before)
        assert not tab.js("network.classes.includes('triangle')")
        model = f"fetch('model.tsf?token={served.host.token}').then((a) => a.arrayBuffer())"
        assert tab.js(f"{model}.then((bytes) => bytes.byteLength)") > 10_000
        held = json.dumps(list(out.read_bytes()))
        tab.js(f"socket.send(new Uint8Array({held}))")
        tab.wait_for("network.classes.includes('triangle')")
        assert served.parameters().same(learned)
        assert tab.complaints == []


def test_it_fits_a_phone_is_dark_at_night_and_asks_nobody_else(browser, start):
    with serving(start) as served:
        tab = opened(browser, served)
        light = tab.js("getComputedStyle(document.body).backgroundColor")
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        assert tab.js("getComputedStyle(document.body).backgroundColor") != light
        tab.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
        assert tab.js("document.documentElement.scrollWidth") <= 360
        port = served.host.port
        assert {url.split("/")[2] for url in tab.requests} == {f"127.0.0.1:{port}"}
        assert tab.complaints == []


def test_keys_teach_and_a_hostile_name_is_only_a_text(browser, start):
    with serving(start) as served:
        tab = opened(browser, served)
        tab.draw(*DIGITS[3])
        tab.wait_for("state.rate > 1000")
        tab.key("keyDown", "3")
        tab.wait_for("state.label === '3'")
        tab.key("keyUp", "3")
        tab.wait_for("state.label === null && state.undo === 1")
        tab.js(f"act('new', {{name: {json.dumps(HOSTILE)}}})")
        tab.wait_for("network.classes.length === 11")
        assert tab.js("$('classes').querySelectorAll('b')[10].textContent") == HOSTILE
        assert tab.js("document.querySelectorAll('img').length") == 0
        assert tab.js("document.title") == "timesurf live"
        assert tab.complaints == []


def test_a_second_page_looks_on_and_takes_over_when_the_first_goes(browser, start):
    with serving(start) as served:
        first = opened(browser, served)
        second = browser(served.host.address)
        second.wait_for("typeof network !== 'undefined' && network && 'rate' in state")
        assert second.js("!acting && !$('role').hidden")
        assert second.js("getComputedStyle($('clear')).pointerEvents") == "none"
        assert second.js("getComputedStyle($('download')).pointerEvents") == "auto"
        second.js("socket.send(JSON.stringify({do: 'adapt', on: true}))")
        first.draw(*DIGITS[1])
        second.wait_for("state.rate > 1000")
        assert not served.show.session.adapts
        first.js("socket.onclose = null; socket.close()")
        second.wait_for("acting && $('role').hidden")


def test_the_picture_has_the_proportions_of_the_sensor(browser, small):
    with serving(small) as served:
        tab = opened(browser, served)
        tab.js("window.box = $('events').getBoundingClientRect()")
        assert tab.js("box.width / box.height") == pytest.approx(2.5, abs=0.05)
        assert tab.js("$('pad').width / $('pad').height") == pytest.approx(2.5, abs=0.05)
        tab.draw([(0.2, 0.2), (0.8, 0.8)])
        tab.wait_for("state.events > 20")
        assert tab.complaints == []


def test_recordings_are_played_and_recorded(browser, start, tmp_path):
    files = {"held out.npz": start.held_out}
    with serving(start, files=files) as served:
        tab = opened(browser, served)
        tab.wait_for("state.playback && state.rate > 1000")
        tab.js("$('pause').click()")
        tab.wait_for("state.playback.paused")
        number = tab.js("state.playback.number")
        assert tab.js("state.playback.label") == str(start.held_out.labels[number - 1])
        before = tab.wait_for("state.events")
        tab.wait_for(f"$('step').click() || state.events > {before}")
        tab.js("act('control', {next: 1})")
        tab.wait_for(f"state.playback.number === {number} + 1")
        tab.js("act('record', {on: true})")
        tab.js("act('label', {name: '0'})")
        tab.js("act('control', {paused: false, speed: 4})")
        tab.wait_for("state.recorded > 1000")
        tab.js("act('label', {name: null})")
        tab.js("act('record', {on: false})")
        tab.wait_for("!$('recorded').disabled")
        with urllib.request.urlopen(f"{served.root}/recordings.npz?token={served.host.token}", timeout=20) as answer:
            (tmp_path / "r.npz").write_bytes(answer.read())
        assert "0" in npz.read(tmp_path / "r.npz").classes
        tab.js("act('play', {file: null})")
        tab.wait_for("state.source === 'draw'")


def test_what_is_not_drawn_is_said_and_units_are_shown_as_they_adapt(browser, start):
    with serving(start, files={"held out.npz": start.held_out}) as served:
        tab = opened(browser, served)
        tab.wait_for("state.playback && state.rate > 1000")
        said = "$('notices').textContent.includes('events not drawn')"
        tab.wait_for(f"{said} === Boolean(state.not_drawn)")  # at this speed only a busy machine has any to say
        tab.js("act('control', {speed: 1000})")
        tab.wait_for(said)
        shown = tab.wait_for("Number($('stream').textContent.split(' ')[0])")
        tab.wait_for(f"Number($('stream').textContent.split(' ')[0]) > {shown}")
        assert tab.js("$('packet').textContent.endsWith('ms') && $('late').hidden && $('total').textContent !== '0'")
        tab.js("window.kept = rows[0].button; act('control', {speed: 1}); act('adapt', {on: true})")
        version = tab.wait_for("network.version")
        tab.wait_for(f"network.version !== {version} && layers[0].grid.pictures === network.hidden[0].pictures")
        assert tab.js("rows[0].button === window.kept && kept.isConnected")  # one that is held stays held
        assert tab.complaints == []


def test_another_model_is_loaded_only_if_what_was_taught_may_be_lost(browser, start, tmp_path):
    start.network.save(tmp_path / "m.tsf")
    held = json.dumps(list((tmp_path / "m.tsf").read_bytes()))
    load = (
        f"(() => {{ const d = new DataTransfer(); d.items.add(new File([new Uint8Array({held})], 'm.tsf')); "
        "$('file').files = d.files; $('file').dispatchEvent(new Event('change')); })()"
    )
    with serving(start) as served:
        tab = opened(browser, served)
        tab.js("window.asked_me = 0; window.answer = false; window.confirm = () => { asked_me++; return answer; }")
        decided(tab, served, TRIANGLE)
        tab.js("act('new', {name: 'triangle'})")
        tab.wait_for("state.unsaved && network.classes.length === 11")
        tab.js(load)
        tab.wait_for("asked_me === 1")
        assert tab.js("$('says').textContent") != "Loaded."
        tab.js("answer = true")
        tab.js(load)
        tab.wait_for("network.classes.length === 10 && !state.unsaved")
        tab.js(load)  # nothing to lose
        tab.wait_for("asked_me === 2 && $('says').textContent === 'Loaded.'")
        assert tab.complaints == []


def refused(served, path, **headers):
    request = urllib.request.Request(served.root + path, headers=headers)
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=10)
    error.value.close()
    return error.value.code


def insist(page, messages):
    for message in messages:
        page.send(message)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        page.recv(timeout=20)


def test_without_the_token_or_from_elsewhere_nobody_gets_in(start):
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    from websockets.sync.client import connect

    with serving(start) as served:
        port, token = served.host.port, served.host.token
        assert refused(served, "/") == 403
        assert refused(served, "/?token=wrong") == 403
        assert refused(served, "/model.tsf?token=wrong") == 403
        assert refused(served, f"/?token={token}", Host="evil.example") == 403
        assert refused(served, f"/?token={token}", Origin="http://evil.example") == 403
        assert refused(served, f"/nothing?token={token}") == 404
        address = f"ws://127.0.0.1:{port}/ws?token="
        for query, origin in (("wrong", served.root), (token, "http://evil.example"), (token, None)):
            with pytest.raises(InvalidStatus):
                connect(address + query, origin=origin, proxy=None)
        for messages in (["x" * (LONGEST + 1)], ["[]"] * (8 * PER_SECOND)):
            with connect(address + token, origin=served.root, proxy=None) as page, pytest.raises(ConnectionClosed):
                insist(page, messages)
        with connect(address + token, origin=served.root, proxy=None) as page:
            for nonsense in (
                "[]",
                "{",
                '{"do": "fly"}',
                '{"do": "draw", "points": [["a", 2]]}',
                '{"do": "new", "name": ""}',
            ):
                page.send(nonsense)
            page.send(b"no model")
            wrong = 0
            while wrong < 6:
                message = page.recv(timeout=20)
                wrong += isinstance(message, str) and "wrong" in json.loads(message)


def test_nonsense_is_answered_in_words_and_the_page_stays(small):
    from websockets.sync.client import connect

    nonsense = {
        "[" * 30_000: "too many brackets",
        '{"do": "draw"}': "without 'points'",
        '{"do": "play", "file": "/etc/passwd"}': "There is no file",
        b"no model": "The file is not a timesurf model",
    }
    with serving(small) as served:
        address = f"ws://127.0.0.1:{served.host.port}/ws?token={served.host.token}"
        with connect(address, origin=served.root, proxy=None) as page:
            for message, why in nonsense.items():
                page.send(message)
                while not (isinstance(answer := page.recv(timeout=20), str) and "done" in json.loads(answer)):
                    pass
                assert why in json.loads(answer)["wrong"]


def test_a_page_that_stalls_or_dies_changes_nothing_for_the_engine(start):
    from websockets.sync.client import connect

    with serving(start, files={"held out": start.held_out}) as served:
        address = f"ws://127.0.0.1:{served.host.port}/ws?token={served.host.token}"
        with connect(address, origin=served.root, proxy=None) as page:
            served.show.ask(lambda: served.show.teach(0)).result(10)
            before = served.show.view.events
            time.sleep(1.0)  # nothing is read
            assert served.show.view.events > before
            page.socket.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + 10
        while served.show.label is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert served.show.label is None  # nobody holds it any more
        assert np.isfinite(served.parameters()[-1].centroids).all()


def test_a_browser_that_is_killed_changes_nothing_for_the_engine(start, tmp_path):
    """Killed while it teaches: the engine goes on with the drawing, and what was taught can be saved."""
    with serving(start, out=tmp_path / "taught.tsf") as served, chromium(tmp_path / "browser") as open_tab:
        tab = opened(open_tab, served)
        tab.draw(*DIGITS[7])
        tab.wait_for("state.events > 500")
        tab.key("keyDown", "7")
        tab.wait_for("state.unsaved")  # something was learned
        open_tab.kill()
        began, before = time.monotonic(), served.show.view.events
        while served.show.view.events < before + 2000:
            assert time.monotonic() < began + 30
            time.sleep(0.05)
        assert served.show.error is None
        served.show.ask(lambda: served.show.teach(None)).result(20)
        served.show.ask(served.show.taught).result(20).save(tmp_path / "taught.tsf")
    assert Network.load(tmp_path / "taught.tsf").parameters.digest() != start.network.parameters.digest()


def test_a_page_may_send_so_much_and_no_more():
    host, page = Host.__new__(Host), object()
    host._allowance = {page: (float(PER_SECOND), time.monotonic())}
    assert host._allowed(page, "x" * LONGEST)
    assert not host._allowed(page, "x" * (LONGEST + 1))
    passed = sum(host._allowed(page, "x") for _ in range(10 * PER_SECOND))
    assert PER_SECOND - 2 <= passed < 5 * PER_SECOND  # those that it had, and a few for the time that this took
    host._allowance[page] = (-1.0, time.monotonic() - 3600)
    assert host._allowed(page, "x")  # after a pause, again

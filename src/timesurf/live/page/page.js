"use strict";
// Talks to the show behind this page: frames in, acts out. Names are only ever set as text.

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
let socket = null, network = null, state = {}, acting = false, asked = 0, holding = null, frames = 0, skipped = 0, noticed = "";
let field = null, layers = [], rows = [], drawing = false, stroke = [], fresh = true, strokes = [];
const evidence = new Evidence($("evidence"));
const waiting = new Map();

function connect() {
  socket = new WebSocket(`ws://${location.host}/ws?token=${encodeURIComponent(token)}`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { $("link").hidden = true; };
  socket.onmessage = ({ data }) => (typeof data === "string" ? hear(JSON.parse(data)) : frame(data));
  socket.onclose = () => { $("link").hidden = false; setTimeout(connect, 1000); };
}

function act(what, about = {}) {
  if (!socket || socket.readyState !== WebSocket.OPEN || !acting) return Promise.resolve(null);
  const number = ++asked;
  socket.send(JSON.stringify({ do: what, number, ...about }));
  return new Promise((done) => waiting.set(number, done));
}

function hear(message) {
  if ("acts" in message) {
    acting = message.acts;
    $("role").hidden = acting;
    document.body.classList.toggle("viewer", !acting);
  }
  if (message.network) meet(message.network);
  if ("skipped" in message) skipped = message.skipped;
  if ("done" in message) {
    if (message.wrong) say(message.wrong, true);
    else if (message.says) say(message.says);
    const done = waiting.get(message.done);
    waiting.delete(message.done);
    if (done) done(message);
  }
}

function say(text, wrong = false) {
  $("says").textContent = text;
  $("says").classList.toggle("wrong", wrong);
}

// What of a network the page is built from; its units' pictures may change at any time, also while a class is held.
const plan = (about) => JSON.stringify([about.field, about.classes, about.last, about.hidden.map(({ kind, shape, units, pictures }) => [kind, shape, units, pictures.length])]);

// A network that is new, or has changed.
function meet(about) {
  const same = network && network.field.join() === about.field.join(), learned = network && plan(network) === plan(about);
  network = about;
  if (learned) {
    layers.forEach((layer, k) => { layer.grid.pictures = about.hidden[k].pictures; });
    return;
  }
  if (!same) lay(about.field[0], about.field[1] || 8);
  layers = [];
  $("layers").replaceChildren();
  for (const layer of about.hidden) {
    const box = document.createElement("div"), text = document.createElement("p"), maps = document.createElement("div");
    const where = document.createElement("canvas"), grid = document.createElement("canvas");
    box.className = "layer";
    maps.className = "maps";
    text.textContent = layer.kind;
    where.setAttribute("role", "img");
    where.setAttribute("aria-label", "Which unit won where");
    grid.setAttribute("role", "img");
    grid.setAttribute("aria-label", "Units, lighting up as they fire");
    maps.append(where, grid);
    box.append(text, maps);
    $("layers").append(box);
    layers.push({ where: new Fading(where, about.field[0], about.field[1] || 8), grid: new UnitGrid(grid, layer) });
  }
  const last = document.createElement("p");
  last.className = "note";
  last.textContent = about.last;
  $("layers").append(last);
  rows = about.classes.map(classRow);
  $("classes").replaceChildren(...rows.map((row) => row.item));
}

// A picture in the proportions of the sensor; of very long fields, in others that can still be seen.
function lay(width, height) {
  const ratio = Math.min(Math.max(width / height, 0.5), 4);
  field = new Fading($("events"), width, height);
  document.querySelector(".stage").style.aspectRatio = ratio;
  $("pad").width = Math.round(340 * Math.max(ratio, 1));
  $("pad").height = Math.round($("pad").width / ratio);
  ink();
}

function classRow(name, n) {
  const item = document.createElement("li"), button = document.createElement("button"), forget = document.createElement("button");
  const label = document.createElement("b"), bar = document.createElement("span"), fill = document.createElement("i");
  const share = document.createElement("span");
  button.type = forget.type = "button";
  button.className = "teach";
  button.dataset.name = name;
  button.title = `Hold while you show ${name}${n < 10 ? ` (key ${keyOf(name, n)})` : ""}`;
  label.textContent = name;
  bar.className = "bar";
  share.className = "share";
  fill.style.background = classColour(n);
  bar.append(fill);
  button.append(label, bar, share);
  button.addEventListener("pointerdown", (event) => { event.preventDefault(); button.focus(); hold(name); });
  for (const kind of ["pointerup", "pointercancel", "pointerleave"]) button.addEventListener(kind, () => release(name));
  button.addEventListener("keydown", (event) => { if ((event.key === "Enter" || event.key === " ") && !event.repeat) { event.preventDefault(); event.stopPropagation(); hold(name); } });
  button.addEventListener("keyup", (event) => { if (event.key === "Enter" || event.key === " ") release(name); });
  forget.className = "forget";
  forget.textContent = "×";
  forget.title = forget.ariaLabel = `Forget ${name}`;
  forget.addEventListener("click", () => { if (confirm(`Forget ${name}?`)) act("forget", { name }); });
  item.append(button, forget);
  return { item, button, fill, share, name };
}

const keyOf = (name, n) => (/^[0-9]$/.test(name) ? name : String((n + 1) % 10));

function nameOfKey(key) {
  if (!network || !/^[0-9]$/.test(key)) return null;
  if (network.classes.includes(key)) return key;
  const n = (Number(key) + 9) % 10;
  return n < network.classes.length && !/^[0-9]$/.test(network.classes[n]) ? network.classes[n] : null;
}

function hold(name) {
  if (holding === name) return;
  holding = name;
  act("label", { name });
}

function release(name) {
  if (holding !== name) return;
  holding = null;
  act("label", { name: null });
}

// A frame: a JSON object, then events.
function frame(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  state = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  frames++;
  if (!network || state.version !== network.version || !field) return;
  const n = state.n;
  let at = 4 + size;
  const take = (Kind) => { const part = new Kind(buffer.slice(at, at + n * Kind.BYTES_PER_ELEMENT)); at += n * Kind.BYTES_PER_ELEMENT; return part; };
  const x = take(Uint16Array), y = take(Uint16Array), winners = layers.map(() => take(Int16Array)), p = take(Uint8Array);
  field.fade(0.82);
  const flat = network.field.length === 1;
  for (let i = 0; i < n; i++) {
    const rejected = winners.length && winners[0][i] < 0;
    if (flat) for (let row = 0; row < 8; row++) field.set(x[i], row, rejected ? REJECTED : p[i] ? ON : OFF);
    else field.set(x[i], y[i], rejected ? REJECTED : p[i] ? ON : OFF);
  }
  layers.forEach((layer, k) => {
    layer.where.fade(0.9);
    for (let i = 0; i < n; i++) {
      if (winners[k][i] < 0) continue;
      const colour = unitColour(winners[k][i]);
      if (flat) for (let row = 0; row < 8; row++) layer.where.set(x[i], row, colour);
      else layer.where.set(x[i], y[i], colour);
      layer.grid.fire(winners[k][i]);
    }
  });
  evidence.add(state.shares);
}

const short = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${Math.round(n / 1e3)} k` : String(Math.round(n)));

// What is on the screen follows the latest frame, as often as the screen shows one.
function paint() {
  if (field && network && document.visibilityState === "visible") {
    field.show();
    for (const layer of layers) { layer.where.show(); layer.grid.show(); }
    evidence.show(network.classes.length);
    figures();
  }
  requestAnimationFrame(paint);
}

function figures() {
  if (!("rate" in state)) return;
  $("rate").textContent = short(state.rate);
  $("total").textContent = short(state.events);
  $("stream").textContent = `${state.stream_s.toFixed(1)} s`;
  $("late").hidden = state.source !== "camera";
  $("behind").textContent = `${state.behind_s.toFixed(3)} s${state.waiting ? ` (${short(state.waiting)} wait)` : ""}`;
  $("packet").textContent = state.rate ? `${state.packet_ms.toFixed(1)} ms` : "–";
  $("kept").textContent = state.kept.map((share) => `${Math.round(100 * share)} %`).join("  ");
  $("latency").textContent = state.rate ? `${state.per_event_us.toFixed(1)} µs` : "–";
  $("S").textContent = state.S.toFixed(2);
  const sure = state.sure_ms !== null;
  $("decision").classList.toggle("sure", sure);
  $("decision").children[0].textContent = state.decision ?? state.previous ?? "–";
  $("decision").children[1].textContent = state.decision === null ? (state.previous === null ? "nothing seen yet" : "looking again …")
    : `${Math.round(100 * state.confidence)} % ${state.calibrated ? "sure" : "of the votes"}${sure ? `, decided after ${Math.round(state.sure_ms)} ms` : ""}`;
  rows.forEach((row, n) => {
    const share = state.shares[n] || 0;
    row.fill.style.width = `${100 * share}%`;
    row.share.textContent = `${Math.round(100 * share)} %`;
    row.button.classList.toggle("holding", state.label === row.name);
  });
  $("undo").disabled = !state.undo;
  $("adapt").checked = state.adapt;
  $("record").setAttribute("aria-pressed", state.record);
  $("record").textContent = state.record ? `Stop (${short(state.recorded)})` : "Record";
  $("recorded").disabled = state.record || !state.recorded;
  $("save").disabled = !state.out;
  $("save").title = state.out ? `Save to ${state.out}` : "No path was given (--out): download the model";
  const score = state.score;
  $("score").hidden = !score || score.now === null;
  if (score && score.now !== null) $("score").textContent = `Held-out recordings: ${(100 * score.now).toFixed(0)} % classified correctly (${(100 * score.before).toFixed(0)} % at first).`;
  tools();
}

// What does not go as it should, one line each; once per second, for those who have it read to them.
function notices() {
  if (!("rate" in state)) return;
  const lines = [
    [state.diverged, `the network has diverged; its units are shown as they were before. ${state.diverged} Load a model to continue.`],
    [state.full, `recording is full at ${short(state.recorded)} events: stop and download it`],
    [state.drift, `drift: ${state.drift}${state.adapt ? ", adapting" : ""}`],
    [state.not_drawn, `events not drawn: ${short(state.not_drawn)} (the picture has room for fewer; the network takes all)`],
    [skipped, `frames skipped: ${short(skipped)} (this page or its connection is slow)`],
    [state.dropped, `events dropped: ${short(state.dropped)} (the stream is faster than this machine)`],
    [state.lost, `datagrams lost: ${short(state.lost)} (the system had no room for them)`],
    [state.refused, `packets refused: ${short(state.refused)}, the latest: ${state.reason}`],
    [state.restarts, `restarts: ${short(state.restarts)} (the clock of the stream has jumped)`],
  ].filter(([there]) => there).map(([, text]) => text);
  if (lines.join("\n") === noticed) return;
  noticed = lines.join("\n");
  $("notices").replaceChildren(...lines.map((text) => { const item = document.createElement("li"); item.textContent = text; return item; }));
}

function tools() {
  const played = state.playback, drawn = state.source === "draw";
  $("draw-tools").hidden = !drawn;
  $("pad").hidden = !drawn;
  $("hint").hidden = !drawn || strokes.length > 0 || drawing;
  $("play-tools").hidden = !played;
  $("sources").hidden = !state.files.length;
  const names = ["", ...state.files];
  if ($("source").children.length !== names.length) {
    $("source").replaceChildren(...names.map((name) => new Option(name || (state.source === "camera" ? "camera" : "drawing pad"), name)));
  }
  if (document.activeElement !== $("source")) $("source").value = played ? played.file : "";
  if (drawn && state.look && document.activeElement !== $("look")) $("look").value = state.look;
  if (played) {
    $("pause").setAttribute("aria-pressed", played.paused);
    $("recording").textContent = `recording ${played.number} of ${played.of}${played.label === null ? "" : `, label ${played.label}`}${played.ended ? ", the end" : ""}`;
    $("progress").value = played.progress;
    $("loop").checked = played.loop;
  }
  if (state.ended && !$("says").textContent) say("The camera has stopped. What was learned is still here: save or download it.");
}

// Drawing
function place(event) {
  const box = $("pad").getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((v) => Math.min(Math.max(v, 0), 1));
}

function ink() {
  const canvas = $("pad"), pen = canvas.getContext("2d");
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--pen") || "#fff";
  pen.lineWidth = 14;
  pen.globalAlpha = drawing ? 0.85 : 0.35;
  pen.lineCap = pen.lineJoin = "round";
  for (const line of strokes) {
    pen.beginPath();
    for (const [x, y] of line) pen.lineTo(x * canvas.width, y * canvas.height);
    if (line.length === 1) pen.lineTo(line[0][0] * canvas.width + 0.1, line[0][1] * canvas.height);
    pen.stroke();
  }
}

function flush() {
  if (!stroke.length) return;
  act("draw", { points: stroke.splice(0, 2000), new: fresh });
  fresh = false;
}

$("pad").addEventListener("pointerdown", (event) => {
  if (!acting) return;
  $("pad").setPointerCapture(event.pointerId);
  drawing = fresh = true;
  strokes.push([place(event)]);
  stroke.push(place(event));
  ink();
});
$("pad").addEventListener("pointermove", (event) => {
  if (!drawing) return;
  for (const one of event.getCoalescedEvents ? event.getCoalescedEvents() : [event]) {
    strokes[strokes.length - 1].push(place(one));
    stroke.push(place(one));
  }
  ink();
});
for (const kind of ["pointerup", "pointercancel"]) $("pad").addEventListener(kind, () => { flush(); drawing = false; ink(); });
setInterval(() => { if (drawing) flush(); }, 40);

function clear() {
  strokes = [];
  stroke = [];
  ink();
  return act("clear");
}

// Buttons and keys
$("clear").addEventListener("click", clear);
$("look").addEventListener("change", () => { strokes = []; ink(); act("look", { look: $("look").value }); });
$("undo").addEventListener("click", () => act("undo"));
$("adapt").addEventListener("change", () => act("adapt", { on: $("adapt").checked }));
$("save").addEventListener("click", () => act("save"));
$("record").addEventListener("click", () => act("record", { on: !state.record }));
$("pause").addEventListener("click", () => act("control", { paused: !(state.playback && state.playback.paused) }));
$("step").addEventListener("click", () => act("control", { step: true }));
$("next").addEventListener("click", () => act("control", { next: 1 }));
$("previous").addEventListener("click", () => act("control", { next: -1 }));
$("speed").addEventListener("change", () => act("control", { speed: Number($("speed").value) }));
$("loop").addEventListener("change", () => act("control", { loop: $("loop").checked }));
$("source").addEventListener("change", () => act("play", { file: $("source").value || null }));
$("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("name").value.trim();
  if (!name) { $("name").focus(); return; }
  act("new", { name }).then((answer) => { if (answer && !answer.wrong) { $("name").value = ""; $("name").blur(); } });
});
$("load").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", async () => {
  const file = $("file").files[0];
  const lost = "What was taught and not saved is lost if another model is loaded. Load it?";
  if (file && acting && (!state.unsaved || confirm(lost))) socket.send(await file.arrayBuffer());
  $("file").value = "";
});

async function download(name) {
  const answer = await fetch(`${name}?token=${encodeURIComponent(token)}`);
  if (!answer.ok) { say(await answer.text(), true); return; }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
$("download").addEventListener("click", () => download("model.tsf"));
$("recorded").addEventListener("click", () => download("recordings.npz"));

const typing = (event) => event.target.matches("input:not([type=checkbox]), select") || event.ctrlKey || event.metaKey || event.altKey;
addEventListener("keydown", (event) => {
  if (typing(event) || event.repeat) return;
  const name = nameOfKey(event.key);
  if (name !== null) hold(name);
  else if (event.key === "c") clear();
  else if (event.key === "u") act("undo");
  else if (event.key === "n") { event.preventDefault(); $("name").focus(); }
  else if (event.key === "." && state.playback) act("control", { step: true });
  else if (event.key === "ArrowRight" && state.playback) act("control", { next: 1 });
  else if (event.key === " " && state.playback && event.target === document.body) { event.preventDefault(); $("pause").click(); }
});
addEventListener("keyup", (event) => { const name = nameOfKey(event.key); if (name !== null) release(name); });
addEventListener("blur", () => { if (holding !== null) release(holding); });
setInterval(() => { $("fps").textContent = frames; frames = 0; notices(); }, 1000);
connect();
paint();

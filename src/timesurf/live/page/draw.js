"use strict";
// Pictures on canvases: events that fade, winners in stable colours, units that light up, evidence over time.

const ON = [86, 180, 233], OFF = [240, 127, 46], REJECTED = [107, 113, 120];
const CLASS_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7a5195", "#6b8e23", "#a0522d", "#708090"];

const classColour = (n) => CLASS_COLOURS[n % CLASS_COLOURS.length];

// The same unit always has the same colour; neighbours differ as much as possible.
function unitColour(n) {
  const hue = (n * 137.508) % 360, light = 0.62 - 0.16 * (n % 3), s = 0.75 * Math.min(light, 1 - light);
  return [0, 8, 4].map((k) => {
    const at = (k + hue / 30) % 12;
    return Math.round(255 * (light - s * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  });
}

// A field of pixels on which what was set fades.
class Fading {
  constructor(canvas, width, height) {
    this.canvas = canvas;
    canvas.width = width;
    canvas.height = height;
    this.context = canvas.getContext("2d");
    this.image = this.context.createImageData(width, height);
    this.width = width;
    for (let i = 3; i < this.image.data.length; i += 4) this.image.data[i] = 255;
  }

  fade(by) {
    const data = this.image.data;
    for (let i = 0; i < data.length; i += 4) {
      data[i] *= by; data[i + 1] *= by; data[i + 2] *= by;
    }
  }

  set(x, y, colour) {
    const i = 4 * (y * this.width + x);
    this.image.data[i] = colour[0]; this.image.data[i + 1] = colour[1]; this.image.data[i + 2] = colour[2];
  }

  show() { this.context.putImageData(this.image, 0, 0); }
}

// The units of a layer, as pictures where there are any, each with a frame that lights up as it fires.
class UnitGrid {
  constructor(canvas, layer) {
    this.canvas = canvas;
    this.units = layer.units;
    this.columns = Math.ceil(Math.sqrt(layer.units * 1.2));
    this.side = layer.pictures.length ? layer.shape[0] : 3;
    this.tall = layer.pictures.length ? layer.shape[1] : 3;
    this.glow = new Float32Array(layer.units);
    canvas.width = this.columns * (this.side + 2);
    canvas.height = Math.ceil(layer.units / this.columns) * (this.tall + 2);
    this.context = canvas.getContext("2d");
    this.image = this.context.createImageData(canvas.width, canvas.height);
    this.pictures = layer.pictures;
  }

  fire(unit) { this.glow[unit] = 1; }

  show() {
    const data = this.image.data, wide = this.canvas.width;
    for (let u = 0; u < this.units; u++) {
      const left = (u % this.columns) * (this.side + 2), top = Math.floor(u / this.columns) * (this.tall + 2);
      const colour = unitColour(u), glow = this.glow[u], picture = this.pictures[u];
      for (let y = 0; y < this.tall + 2; y++) {
        for (let x = 0; x < this.side + 2; x++) {
          const i = 4 * ((top + y) * wide + left + x);
          const edge = x === 0 || y === 0 || x === this.side + 1 || y === this.tall + 1;
          const level = edge ? glow : (picture ? picture[(y - 1) * this.side + x - 1] / 255 : 1) * (0.5 + 0.5 * glow);
          data[i] = colour[0] * level; data[i + 1] = colour[1] * level; data[i + 2] = colour[2] * level; data[i + 3] = 255;
        }
      }
      this.glow[u] *= 0.85;
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

// Shares of all classes over the last ten seconds, one line each.
class Evidence {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.rows = [];
  }

  add(shares) {
    const now = performance.now();
    this.rows.push([now, shares]);
    while (this.rows.length && this.rows[0][0] < now - 10000) this.rows.shift();
  }

  show(classes) {
    const wide = this.canvas.clientWidth * devicePixelRatio | 0, tall = this.canvas.clientHeight * devicePixelRatio | 0;
    if (this.canvas.width !== wide || this.canvas.height !== tall) { this.canvas.width = wide; this.canvas.height = tall; }
    const pen = this.context, now = performance.now();
    pen.clearRect(0, 0, wide, tall);
    pen.lineWidth = 2 * devicePixelRatio;
    for (let c = 0; c < classes; c++) {
      pen.strokeStyle = classColour(c);
      pen.beginPath();
      let drawn = false;
      for (const [t, shares] of this.rows) {
        const x = wide * (1 - (now - t) / 10000), y = tall - 3 - (tall - 6) * (shares[c] || 0);
        const there = shares.some((share) => share > 0);  // between recordings nothing is known: a gap, not a fall
        if (there && drawn) pen.lineTo(x, y);
        else if (there) pen.moveTo(x, y);
        drawn = there;
      }
      pen.stroke();
    }
  }
}

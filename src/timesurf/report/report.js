"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  document.documentElement.classList.add("js");

  // A group of items is one stop of the Tab key; arrow keys move within it.
  function rove(items, across) {
    const at = (n) => items.forEach((item, k) => { item.tabIndex = k === n ? 0 : -1; });
    items.forEach((item, n) => {
      item.addEventListener("focus", () => at(n));
      item.addEventListener("keydown", (event) => {
        const steps = {
          ArrowRight: 1, ArrowLeft: -1, ArrowDown: across(), ArrowUp: -across(), Home: -n, End: items.length - 1 - n,
        };
        if (!(event.key in steps)) return;
        event.preventDefault();
        const next = items[n + steps[event.key]];
        if (next) next.focus();
      });
    });
    at(0);
    return at;
  }

  // Units of the first layer: tabs, each with a panel that shows what the unit fires for.
  for (const picking of all(".picking")) {
    const picks = all("a.unit", picking), panels = all(".panel", picking), list = picking.firstElementChild;
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "units of layer 1");
    const at = rove(picks, () => picks.filter((pick) => pick.offsetTop === picks[0].offsetTop).length);
    const pick = (n) => {
      at(n);
      picks.forEach((item, k) => item.setAttribute("aria-selected", String(k === n)));
      panels.forEach((panel, k) => panel.classList.toggle("picked", k === n));
    };
    picks.forEach((item, n) => {
      item.setAttribute("role", "tab");
      item.setAttribute("aria-controls", panels[n].id);
      panels[n].setAttribute("role", "tabpanel");
      panels[n].tabIndex = 0;
      item.addEventListener("click", (event) => {
        event.preventDefault();
        pick(n);
        history.replaceState(null, "", item.hash);
      });
      item.addEventListener("keydown", (event) => {
        if (event.key !== " ") return;
        event.preventDefault();
        item.click();
      });
    });
    const addressed = () => picks.findIndex((item) => item.hash === location.hash);
    pick(Math.max(addressed(), 0));
    addEventListener("hashchange", () => { if (addressed() >= 0) pick(addressed()); });
  }

  // Charts: show the values at the place pointed at, or at the cursor that arrow keys move.
  for (const chart of all("[data-points]")) {
    const points = JSON.parse(chart.dataset.points);
    const svg = chart.querySelector("svg"), cursor = svg.querySelector(".cursor"), out = chart.querySelector("output");
    const how = "Point at the picture, or focus it and use the arrow keys, to read its values.";
    const hint = chart.closest("article") ? "" : how;
    out.textContent = hint;
    let now = points.length - 1;
    const show = (n) => {
      now = Math.min(Math.max(n, 0), points.length - 1);
      const [x, words] = points[now];
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      svg.setAttribute("aria-valuenow", now + 1);
      svg.setAttribute("aria-valuetext", out.textContent = words);
    };
    const hide = () => {
      cursor.setAttribute("x1", -9);
      cursor.setAttribute("x2", -9);
      out.textContent = hint;
    };
    svg.setAttribute("role", "slider");
    svg.setAttribute("aria-valuemin", 1);
    svg.setAttribute("aria-valuemax", points.length);
    svg.setAttribute("aria-valuenow", points.length);
    svg.setAttribute("aria-valuetext", points[now][1]);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      const far = points.map(([place]) => Math.abs(place - x));
      show(far.indexOf(Math.min(...far)));
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("focus", () => show(now));
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const to = {
        ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: points.length - 1,
      };
      if (!(event.key in to)) return;
      event.preventDefault();
      show(to[event.key]);
    });
  }

  // Cells of a matrix: show count and share.
  for (const matrix of all(".cells")) {
    const out = matrix.querySelector("output"), cells = all("td[data-tip]", matrix);
    const hint = out.textContent = "Point at a cell, or focus one and use the arrow keys, for its count and share.";
    rove(cells, () => all("tbody tr:first-child td", matrix).length);
    for (const cell of cells) {
      const show = () => { out.textContent = cell.dataset.tip; };
      const reset = () => { out.textContent = hint; };
      for (const begin of ["pointerenter", "focus"]) cell.addEventListener(begin, show);
      for (const end of ["pointerleave", "blur"]) cell.addEventListener(end, reset);
    }
  }

  addEventListener("beforeprint", () => { for (const part of all("details")) part.open = true; });
})();

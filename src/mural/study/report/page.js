"use strict";
// A slider per run: each position is a moment, whose pictures and numbers stand in the JSON beside it.
const SVG = "http://www.w3.org/2000/svg";
const PAUSE = 350; // milliseconds between two moments when played

function points(table) {
  const most = Math.max(1, ...table.map((row) => row[2]));
  return table.map(([p, share, count]) => {
    const circle = document.createElementNS(SVG, "circle");
    circle.setAttribute("class", "point");
    circle.setAttribute("cx", 100 * p);
    circle.setAttribute("cy", 100 - 100 * share);
    circle.setAttribute("r", 1.2 + 3.3 * Math.sqrt(count / most));
    return circle;
  });
}

function prepare(box) {
  const moments = JSON.parse(box.querySelector("script").textContent);
  const [slider, output, told, button] = ["input", "output", ".told", "button"].map((name) => box.querySelector(name));
  const show = () => {
    const moment = moments[slider.value];
    const epoch = moment.epoch === null ? "" : `, epoch ${moment.epoch}`;
    output.textContent = `step ${moment.step.toLocaleString("en")}${epoch}`;
    slider.setAttribute("aria-valuetext", output.textContent);
    told.textContent = moment.told;
    for (const part of box.querySelectorAll("[data-show]")) {
      const value = moment[part.dataset.show];
      if (part.dataset.show === "table") part.replaceChildren(...points(value));
      else if (part.dataset.show === "path") part.setAttribute("points", value);
      else if (value) part.setAttribute(part.tagName === "IMG" ? "src" : "href", value);
      else part.removeAttribute(part.tagName === "IMG" ? "src" : "href");
    }
  };
  let playing = null;
  const stop = () => {
    clearInterval(playing);
    playing = null;
    button.textContent = "▶";
    button.setAttribute("aria-label", "Play over time");
  };
  slider.addEventListener("input", () => { stop(); show(); });
  button.addEventListener("click", () => {
    if (playing !== null) return stop();
    if (Number(slider.value) === moments.length - 1) slider.value = 0;
    show();
    button.textContent = "❚❚";
    button.setAttribute("aria-label", "Pause");
    playing = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) >= moments.length - 1) stop();
    }, PAUSE);
  });
  show();
}

document.querySelectorAll("[data-moments]").forEach(prepare);

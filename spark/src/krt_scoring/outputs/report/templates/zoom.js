// Draws the charts in place of the still ones, and zooms all of them together.
(() => {
  "use strict";
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const bar = document.querySelector(".zoom");
  if (!figures.length || !bar) return;
  const whole = [0, Number(bar.dataset.end)];
  const least = 1;
  const charts = [];
  let shown = whole;

  const show = (from, to) => {
    const length = Math.min(Math.max(to - from, least), whole[1]);
    const start = Math.min(Math.max(from, 0), whole[1] - length);
    shown = [start, start + length];
    for (const chart of charts) chart.view.signal("krt_from", shown[0]).signal("krt_to", shown[1]).runAsync();
    bar.querySelector("output").textContent = `${shown[0].toFixed(1)} s to ${shown[1].toFixed(1)} s`;
  };

  const scaled = (factor) => {
    const middle = (shown[0] + shown[1]) / 2;
    const half = ((shown[1] - shown[0]) * factor) / 2;
    show(middle - half, middle + half);
  };

  const moved = (part) => {
    const by = (shown[1] - shown[0]) * part;
    show(shown[0] + by, shown[1] + by);
  };

  bar.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { from, to, scale, move } = button.dataset;
    if (scale) scaled(Number(scale));
    else if (move) moved(Number(move));
    else show(from ? Number(from) : whole[0], to ? Number(to) : whole[1]);
  });

  // A stretch that is dragged over with the mouse is zoomed into.
  const dragging = (target, chart) => {
    target.addEventListener("pointerdown", (down) => {
      if (down.pointerType !== "mouse" || down.button !== 0) return;
      const box = target.getBoundingClientRect();
      const left = chart.padding.left;
      const inside = (event) => Math.min(Math.max(event.clientX - box.left - left, 0), chart.view.width());
      const start = inside(down);
      const band = document.createElement("div");
      band.className = "band";
      target.append(band);
      down.preventDefault();
      const move = (event) => {
        const end = inside(event);
        band.style.left = `${left + Math.min(start, end)}px`;
        band.style.width = `${Math.abs(end - start)}px`;
      };
      const up = (event) => {
        const end = inside(event);
        band.remove();
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", up);
        if (Math.abs(end - start) < 5) return;
        const seconds = (x) => shown[0] + (x / chart.view.width()) * (shown[1] - shown[0]);
        show(seconds(Math.min(start, end)), seconds(Math.max(start, end)));
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", up);
    });
    target.addEventListener("dblclick", () => show(...whole));
  };

  const draw = async (figure) => {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const target = figure.querySelector(".drawn");
    const padding = spec.padding;
    const width = () => Math.max(100, figure.clientWidth - padding.left - padding.right);
    spec.width = width();
    const { view } = await vegaEmbed(target, spec, { renderer: "svg", actions: false });
    const chart = { view, padding, width };
    figure.classList.add("live");
    dragging(target, chart);
    charts.push(chart);
  };

  Promise.all(figures.map(draw)).then(() => {
    show(...whole);
    bar.hidden = false;
    document.documentElement.dataset.drawn = String(charts.length);
    let waiting = 0;
    window.addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => charts.forEach((chart) => chart.view.width(chart.width()).runAsync()), 150);
    });
  });
})();

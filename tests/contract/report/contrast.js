// Returns what is too faint: texts below 4.5:1 and marks below 3:1 against what lies behind them.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "rgba(0,0,0,0)";
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const found = [];
  const check = (what, colour, ground, least) => {
    const value = contrast(over(colour, ground), ground);
    if (value < least) found.push(`${what}: ${value.toFixed(2)}`);
  };
  const page = behind(document.body);

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.nodeValue.trim() || parent.closest("script, style, svg")) continue;
    check(`text "${walker.currentNode.nodeValue.trim().slice(0, 30)}"`, rgba(getComputedStyle(parent).color), behind(parent), 4.5);
  }

  // In charts a text or a mark lies on the page, on a shade, or on a bar.
  const style = getComputedStyle(document.documentElement);
  const named = (name) => rgba(style.getPropertyValue(`--${name}`));
  const shades = ["shade-active", "shade-recovering", "shade-startup"].map((name) => over(named(name), page));
  const grounds = [page, ...shades];
  const bars = ["fault", "recovering", "phase", "outage", "part-detect", "part-elect", "part-rebalance", "part-client",
    "broker-0", "broker-1", "broker-2", "broker-3", "broker-4", "broker-5"];
  const lines = ["acked", "failed", "unknown", "p50", "p99", "max"];
  for (const ground of grounds) {
    for (const name of [...bars, ...lines]) check(`mark ${name}`, named(name), ground, 3);
    for (const name of ["fg", "dim"]) check(`chart text ${name}`, named(name), ground, 4.5);
  }
  for (const name of bars) check(`text on ${name}`, named("on-mark"), named(name), 4.5);
  return found;
}

/**
 * `readChartColors` returns the colors of a chart as they apply to an element, and `onThemeChange` reports that they may
 * have changed.
 * Invariant: every color is `#rrggbb`, in whatever format the app sets it: the chart library appends an opacity to it.
 */
import type { ChartColors } from "./chart-data.ts";

export function readChartColors(element: HTMLElement): ChartColors {
  // A token may depend on the color scheme or on other variables, so the browser has to compute it.
  const probe = document.createElement("span");
  element.after(probe);
  const style = getComputedStyle(probe);
  const read = (token: string): string => {
    probe.style.color = `var(${token})`;
    return toHex(style.color);
  };
  const colors = {
    series: ["--ts-accent", "--ts-run", "--ts-done", "--ts-fail", "--ts-idle"].map(read),
    text: read("--ts-muted"),
    line: read("--ts-line-color"),
    font: style.getPropertyValue("--ts-font").trim(),
  };
  probe.remove();
  return colors;
}

function toHex(color: string): string {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  if (pixel === null) return "#808080";
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = pixel.getImageData(0, 0, 1, 1).data;
  return `#${((1 << 24) | (red << 16) | (green << 8) | blue).toString(16).slice(1)}`;
}

/** The colors of a picture don't follow the styles automatically. */
export function onThemeChange(element: HTMLElement, run: () => void): () => void {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(run);
  // Only the elements above choose the theme.
  for (let above = element.parentElement; above !== null; above = above.parentElement)
    observer.observe(above, { attributeFilter: ["class", "data-theme", "style"] });
  query.addEventListener("change", run);
  return () => {
    observer.disconnect();
    query.removeEventListener("change", run);
  };
}

/**
 * `drawChart` draws charts with chart.js, without animation. Loaded as a chunk with the first chart.
 * Invariant: only `chart-artifact.tsx` imports this file, and only dynamically. The caller removes a chart with the
 * returned function before it draws on the same canvas again.
 */
import type { ArtifactData } from "@turnstream/protocol";
import {
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartDataset,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
} from "chart.js";
import type { ChartColors, Series } from "./chart-data.ts";

Chart.register(
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
);

interface DrawOptions {
  readonly locale: string;
  /** Passed in: an import of the code of the cards would make bundlers load other parts with the cards. */
  readonly series: readonly Series[];
  readonly colors: ChartColors;
}

/** @returns a function that removes the chart */
export function drawChart(
  canvas: HTMLCanvasElement,
  data: ArtifactData["chart"],
  options: DrawOptions,
): () => void {
  const { locale, series, colors } = options;
  const { kind = "bar", labels, unit = "" } = data;
  const isPie = kind === "pie";
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 6 });
  const withUnit = (value: number): string =>
    unit === "" ? numbers.format(value) : `${numbers.format(value)} ${unit}`;
  const axis = {
    grid: { color: `${colors.line}99` },
    border: { display: false },
    ticks: { color: colors.text },
  };
  const chart = new Chart(canvas, {
    type: kind === "area" ? "line" : kind,
    data: {
      labels: [...labels],
      datasets: series.map(({ name, values }, n) => dataset(name, values, n, kind, labels, colors)),
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      locale,
      font: { family: colors.font },
      interaction: { mode: isPie ? "nearest" : "index", intersect: isPie },
      scales: isPie
        ? {}
        : {
            x: { ...axis, grid: { display: false } },
            y: { ...axis, ticks: { ...axis.ticks, callback: (value) => numbers.format(Number(value)) } },
          },
      plugins: {
        legend: {
          display: series.length > 1 || isPie,
          labels: {
            color: colors.text,
            usePointStyle: true,
            pointStyle: kind === "line" || kind === "area" ? "line" : "circle",
            boxWidth: 14,
            boxHeight: 7,
          },
        },
        tooltip: {
          callbacks: {
            label: ({ dataset: { label = "" }, raw, label: slice }) => {
              const value = typeof raw === "number" ? raw : ((raw as { y?: number } | null)?.y ?? 0);
              return `${isPie ? slice : label}: ${withUnit(value)}`;
            },
          },
        },
      },
    },
  });
  return () => chart.destroy();
}

type Kind = NonNullable<ArtifactData["chart"]["kind"]>;

function dataset(
  label: string,
  values: readonly (number | null)[],
  n: number,
  kind: Kind,
  labels: readonly (string | number)[],
  { series }: ChartColors,
): ChartDataset<"line" | "bar" | "pie" | "scatter", (number | null | { x: number; y: number })[]> {
  const color = series[n % series.length] ?? "";
  if (kind === "pie") {
    const slices = values.map((_, at) => series[at % series.length] ?? "");
    return { label, data: [...values], backgroundColor: slices, borderWidth: 0 };
  }
  if (kind === "scatter") {
    const points = values.flatMap((y, at) => (y === null ? [] : [{ x: Number(labels[at] ?? at), y }]));
    return { label, data: points, backgroundColor: color, borderColor: color };
  }
  if (kind === "bar") return { label, data: [...values], backgroundColor: `${color}d9`, borderRadius: 3 };
  return {
    label,
    data: [...values],
    borderColor: color,
    backgroundColor: `${color}26`,
    fill: kind === "area",
    borderWidth: 2,
    pointRadius: values.length > 40 ? 0 : 2,
    tension: 0.2,
  };
}

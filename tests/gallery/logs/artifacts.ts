/** `artifact` writes logs of tools that return an artifact: charts, tables, files, pictures and code. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { Artifact, ArtifactData } from "@turnstream/protocol";
import { concluded, story } from "./writing.ts";

export function artifact(made: Artifact): Story {
  const log = story("Show me.");
  const call = log.call("show", ['{"what":"VNM"}'], { label: "Preparing it" });
  const on = log.startResult(call, "show", { label: "Preparing it" });
  log.wait(1).add({ type: "tool_result.end", ...on, status: "success", preview: "ready", artifact: made });
  return concluded(log, "There it is.");
}

const DAYS = ["17 Mar", "18 Mar", "19 Mar", "20 Mar", "23 Mar", "24 Mar", "25 Mar"];
const VNM = [81.2, 81.9, 80.8, 82.6, 83.4, 83, 82];
const MCH = [138.9, 139.4, 140.2, null, 140.9, 140.7, 141.3];

export function chart(kind: NonNullable<ArtifactData["chart"]["kind"]>): Artifact {
  if (kind === "pie") {
    const labels = ["Food", "Banks", "Technology", "Cash"];
    return {
      type: "chart",
      title: "Portfolio by sector",
      data: { kind, labels, values: [31, 28, 24, 17], unit: "%" },
    };
  }
  if (kind === "scatter") {
    const labels = [9.1, 12.4, 14, 16.4, 17.1, 19.8, 22.3];
    const values = [2.1, 3.4, 3.1, 4.2, 3.9, 5.1, 4.8];
    return { type: "chart", title: "P/E against yield", data: { kind, labels, values } };
  }
  if (kind === "bar")
    return {
      type: "chart",
      title: "VNM, last 7 sessions",
      data: { kind, labels: DAYS, values: VNM, unit: "1,000 VND" },
    };
  const series = [
    { name: "VNM", values: VNM },
    { name: "MCH", values: MCH },
  ];
  return {
    type: "chart",
    title: "VNM and MCH, last 7 sessions",
    data: { kind, labels: DAYS, series, unit: "1,000 VND" },
  };
}

export const table: Artifact = {
  type: "table",
  title: "Food and drink, at the close",
  data: {
    columns: ["Symbol", "Close", "Change", "Listed", "Note"],
    rows: [
      ["VNM", 82_000, -1.2, true, "below its average of 20 sessions"],
      ["MCH", 141_300, 0.4, true, null],
      ["SAB", 56_700, 2.1, true, "results on Friday"],
      ["QNS", 48_950, 0, false, "UPCoM"],
    ],
    total: 38,
  },
};

export const file: Artifact = {
  type: "file",
  title: "The report",
  data: {
    name: "VNM-2026-03-25.pdf",
    url: "turnstream:blob/report",
    media_type: "application/pdf",
    size: 482_133,
  },
};

export const code: Artifact = {
  type: "code",
  title: "The strategy",
  data: {
    language: "python",
    name: "strategy.py",
    first_line: 12,
    code: 'def signal(prices, fast=5, slow=20):\n    """Buys when the fast average crosses the slow one."""\n    a, b = mean(prices[-fast:]), mean(prices[-slow:])\n    return "buy" if a > b else "wait"\n',
  },
};

const PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAUAAAACgCAMAAABKfUWuAAAAD1BMVEXZ7+zu9/VfqKAPdm7ytFz4o8SHAAACJ0lEQVR42u3awY6jMBBF0Tev+v+/uRe9GI06k4CrwKZ8794OPtgRSEhERERERERERERERERERERERNP7+hsYGT0MK/wQTPJBmPdDMOuHYNYPQQAn+yGY9UMQQACf7YcggAACCCABCCCAABKAAPIuDCABeKcgQDlBeACcKghOThCanCAwKcKimf9s0i+/onm3AfzXsG7SnQAvCUAAAQQQQAIQQACXyj8BmMDzLYhqrnc5odZVqOK7llCLb6EKvUsFtf4BdJ7vQkItz3ds8f5cf8Dx5ftQzQGHAXy41oCDBD5VY8ABB4/UFND31RLQfq6gdvOrFtR2fsWC2s+vGaD9bEFt6FcqqB39KgW1pV+hoPb0qxOU9/QrE5S9p1/VuuVpgm4hKM8StFsIypME7R6C8hxBu4mgPEXQ7iIozxC02wjKEwT/t5g41RqEykw0+OM5t3rK89f9GvAMR+ImFsJVOQ4dmleAThzAU35xZeWEb0fpJEP2KMRdVQl+GqfSTyiWoBtUHHxaUNm9eDM8pjZqeGyMju6j0cuINTqzFU+dfR3aRmP/ybFaVzyI69NGGps2lu0+wOFi/dYFjOe0HGA8sGUA48FNB4wOTQKMVt0MGC27CTB6dylgbNIVgLFdhYCxb2nAoHeKgi6nKOhyjIIu5yjgco7CIBeAAAIIIIAEIIAAAkgAAggggAQggAACSAACCCCABCCAAAJIAAIIIIAEIIAAAkgA1vYNnSQe1P/M9QgAAAAASUVORK5CYII=";

export const image: Artifact = {
  type: "image",
  title: "The lake in the morning",
  data: { url: PICTURE, alt: "Hills behind a lake, under a low sun", width: 320, height: 160 },
};

/** Its host is not listed, so it is loaded only on request. */
export const foreignImage: Artifact = {
  type: "image",
  title: "A picture from another host",
  data: { url: "https://img.example/elsewhere.png", alt: "A map of the route" },
};

/** Too large for the log: a preview, and a reference to the whole. */
export const cutTable: Artifact = {
  ...table,
  title: "All of the exchange",
  whole: { blob: "blob_90bd", size: 524_288, media_type: "application/json" },
};

/** A type that this client doesn't know. */
export const custom: Artifact = { type: "x-forecast", title: "Forecast", data: { days: [12, 14, 11] } };

export const unknown: Artifact = { type: "hologram", title: "A hologram", data: { seed: 42 } };

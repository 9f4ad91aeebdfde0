/**
 * `loadResets` returns the resets that apps use, from their real packages: what Tailwind, Bootstrap and MUI do to every
 * page, and the shortest reset of all.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import CssBaseline from "@mui/material/CssBaseline";
import postcss, { type AcceptedPlugin } from "postcss";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { compile } from "tailwindcss";
import tailwind3 from "tailwindcss-3";

export type ResetName = "Tailwind 3" | "Tailwind 4" | "Bootstrap" | "MUI" | "*";

const require = createRequire(import.meta.url);

export async function loadResets(): Promise<Readonly<Record<ResetName, string>>> {
  return {
    "Tailwind 3": await tailwind3Base(),
    "Tailwind 4": await tailwind4Base(),
    Bootstrap: readFileSync(require.resolve("bootstrap/dist/css/bootstrap-reboot.css"), "utf8"),
    MUI: muiBaseline(),
    "*": "* { margin: 0; padding: 0 }",
  };
}

async function tailwind3Base(): Promise<string> {
  // Its types don't match those of postcss under `exactOptionalPropertyTypes`.
  const plugin = tailwind3({ content: [{ raw: '<p class="p-4">' }] }) as unknown as AcceptedPlugin;
  const { css } = await postcss([plugin]).process("@tailwind base; @tailwind utilities;", {
    from: undefined,
  });
  return css;
}

/** What `@import "tailwindcss"` gives, with the utility `p-0`. */
async function tailwind4Base(): Promise<string> {
  const compiled = await compile('@import "tailwindcss";', {
    loadStylesheet: async (id) => {
      const path = require.resolve(id === "tailwindcss" ? "tailwindcss/index.css" : id);
      return { path, base: dirname(path), content: readFileSync(path, "utf8") };
    },
  });
  return compiled.build(["p-0"]);
}

/** On a server, MUI puts its global styles into the HTML. */
function muiBaseline(): string {
  const html = renderToStaticMarkup(createElement(CssBaseline, { enableColorScheme: true }));
  const css = [...html.matchAll(/<style[^>]*>([^]*?)<\/style>/g)].map(([, text = ""]) => text).join("\n");
  if (!css.includes("box-sizing:inherit")) throw new Error("MUI rendered no global styles");
  return css;
}

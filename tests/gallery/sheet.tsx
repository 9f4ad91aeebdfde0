/** Shows all states of a component on one page for comparison: `sheet.html?component=approval&theme=dark`. */
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { readAddress } from "./stage/address.ts";
import { openPlayback } from "./stage/playback.ts";
import { StateView } from "./stage/state-view.tsx";
import { componentOf, STATES } from "./states/index.ts";
import type { GalleryState } from "./states/state.ts";
import "@turnstream/react/styles.css";
import "./sheet.css";

const address = readAddress(location.search);
const component = new URLSearchParams(location.search).get("component") ?? "text";

function Cell({ state }: { readonly state: GalleryState }) {
  const [playback] = useState(() =>
    openPlayback({ ...state, live: 0 }, null, { now: Date.now, onCommand: () => undefined }),
  );
  return (
    <section className="g-cell" ref={(cell) => void (cell !== null && state.act?.(cell))}>
      <h2>{state.name}</h2>
      <StateView playback={playback} locale={address.locale} />
    </section>
  );
}

const { documentElement: html } = document;
html.dir = address.dir;
html.lang = address.locale;
if (address.theme !== "auto") html.dataset["theme"] = address.theme;
const place = document.getElementById("sheet");
if (place !== null)
  createRoot(place).render(
    <main className="ts-root g-sheet">
      <h1>{component}</h1>
      {STATES.filter((state) => componentOf(state) === component).map((state) => (
        <Cell key={state.name} state={state} />
      ))}
    </main>,
  );

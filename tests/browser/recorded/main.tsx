/** This page renders recorded sessions, for tests of what is rendered when. */
import { type SessionEvent, restoreTurn, Sequence, type TurnSnapshot } from "@turnstream/protocol";
import { ClientError } from "@turnstream/client";
import { type StaticSession, createStaticSession } from "@turnstream/client/static";
import { preload } from "@turnstream/react";
import { highlight } from "@turnstream/react/highlight";
import { math } from "@turnstream/react/math";
import { mermaid } from "@turnstream/react/mermaid";
import mermaidUrl from "mermaid/dist/mermaid.min.js?url";
import { flushSync } from "react-dom";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import "@turnstream/react/styles.css";
import "@turnstream/react/highlight.css";
import { App } from "./app.tsx";
import { countedComponents } from "./counted.ts";
import type { Recorded } from "./handle.ts";

const place = document.getElementById("root");
if (place === null) throw new Error("the element #root is missing");

let spoilt = "";
let refusal: string | null = null;
let counts: Record<string, number> = {};
let session: StaticSession | null = null;
let root: Root | null = null;
const components = countedComponents((what) => {
  counts[what] = (counts[what] ?? 0) + 1;
  if (spoilt !== "" && `${what} `.startsWith(`${spoilt} `))
    throw new Error(`${spoilt} throws on request of the test`);
});
const plugins = location.search === "?plugins" ? [highlight(), math(), mermaid({ url: mermaidUrl })] : [];
const commands: Recorded["commands"] = [];
const mended: string[] = [];

/** Renders synchronously with effects, so that listeners are ready for the next event. */
const draw = (on: Root, what: StaticSession): void =>
  flushSync(() => on.render(<App session={what} components={components} plugins={plugins} />));

const onRecoverableError = (error: unknown): void => void mended.push(String(error));

window.recorded = {
  start(events: readonly SessionEvent[], html?: string) {
    root?.unmount();
    session = createStaticSession(events, {
      onCommand(name, args) {
        commands.push([name, ...args]);
        if (refusal !== null)
          throw new ClientError(refusal as ClientError["code"], "The test refused the command.");
        if (name !== "uploadFile") return undefined;
        return { id: "1", url: "turnstream:blob/1", name: "a.txt", media_type: "text/plain", size: 3 };
      },
    });
    if (html === undefined) {
      const fresh = createRoot(place);
      root = fresh;
      draw(fresh, session);
      return;
    }
    place.innerHTML = html;
    root = hydrateRoot(place, <App session={session} />, { onRecoverableError });
  },
  preload,
  swap(events, id) {
    session = createStaticSession(events, { id });
    if (root !== null) draw(root, session);
  },
  spoil: (part) => {
    spoilt = part;
  },
  refuse: (code) => {
    refusal = code;
  },
  append: (events) => session?.append(events),
  show: (view) => session?.setView(view),
  showTurns(text, hasMore) {
    if (session === null) return;
    const turns = Sequence.from((JSON.parse(text) as TurnSnapshot[]).map(restoreTurn));
    const { state } = session.getSnapshot();
    session.setView({ state: { ...state, turns }, history: { hasMore, isLoading: false, error: null } });
  },
  drawn() {
    const seen = counts;
    counts = {};
    return seen;
  },
  commands,
  mended,
};

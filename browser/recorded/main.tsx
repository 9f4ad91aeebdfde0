/** A page that draws recorded sessions, for tests of what is drawn when. */
import { type Event, restoreTurn, Sequence, type TurnSnapshot } from "@turnstream/protocol";
import { type RecordedSession, recordedSession } from "@turnstream/client/recorded";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import "@turnstream/react/styles.css";
import { App } from "./app.tsx";
import { countedComponents } from "./counted.ts";
import type { Recorded } from "./handle.ts";

const place = document.getElementById("root");
if (place === null) throw new Error("there is no place to draw at");

let counts: Record<string, number> = {};
let session: RecordedSession | null = null;
let root: Root | null = null;
const components = countedComponents((what) => {
  counts[what] = (counts[what] ?? 0) + 1;
});
const commands: Recorded["commands"] = [];
const mended: string[] = [];

const onRecoverableError = (error: unknown): void => void mended.push(String(error));

window.recorded = {
  start(events: readonly Event[], html?: string) {
    root?.unmount();
    session = recordedSession(events, {
      onCommand(name, args) {
        commands.push([name, ...args]);
        if (name !== "upload") return undefined;
        return { id: "1", url: "turnstream:blob/1", name: "a.txt", media_type: "text/plain", size: 3 };
      },
    });
    if (html === undefined) {
      root = createRoot(place);
      root.render(<App session={session} components={components} />);
      return;
    }
    place.innerHTML = html;
    root = hydrateRoot(place, <App session={session} />, { onRecoverableError });
  },
  append: (events) => session?.append(events),
  show: (view) => session?.show(view),
  showTurns(text, hasMore) {
    if (session === null) return;
    const turns = Sequence.from((JSON.parse(text) as TurnSnapshot[]).map(restoreTurn));
    const { state } = session.getSnapshot();
    session.show({ state: { ...state, turns }, older: { hasMore, isLoading: false, error: null } });
  },
  drawn() {
    const seen = counts;
    counts = {};
    return seen;
  },
  commands,
  mended,
};

/** A page with Tailwind 4 that shows a recorded session. The test sets the events, and reads the commands. */
import { createStaticSession } from "@turnstream/client/static";
import { SessionProvider, Thread } from "@turnstream/react";
import { highlight } from "@turnstream/react/highlight";
import { createRoot } from "react-dom/client";
import "./page.css";

type Events = Parameters<typeof createStaticSession>[0];

declare global {
  interface Window {
    readonly recordedEvents: Events;
    readonly commands: string[];
  }
}

const session = createStaticSession(window.recordedEvents, {
  onCommand: (name) => {
    window.commands.push(name);
    return undefined;
  },
});
const markdownPlugins = [highlight()];

const root = document.getElementById("root");
if (root !== null)
  createRoot(root).render(
    <div className="flex h-dvh flex-col">
      <header className="p-4 text-lg">A Vite app</header>
      <SessionProvider session={session} markdownPlugins={markdownPlugins}>
        <Thread />
      </SessionProvider>
    </div>,
  );

/**
 * The bench page renders a thread with one of the subjects and streams an answer into it at a given rate. Its URL
 * selects both (`?subject=…&messages=200&deltas=2000&pace=200`). The bench calls the functions of `window.bench`.
 */
import { Profiler } from "react";
import { createRoot } from "react-dom/client";
import { LAST_SENTENCE, streamed } from "../react/turn.ts";
import type { Paced } from "./pace.worker.ts";
import type { CreateTarget, BenchTarget } from "./target.ts";
import { onCommit, type Smoothness, watchSmoothness } from "./watch.ts";

const SUBJECTS: Readonly<Record<string, () => Promise<CreateTarget>>> = {
  turnstream: async () => (await import("./turnstream.tsx")).turnstream,
  "use-chat": async () => (await import("./use-chat.tsx")).useChatPlain,
  "use-chat-memo": async () => (await import("./use-chat.tsx")).useChatMemo,
  streamdown: async () => (await import("./streamdown.tsx")).streamdown,
};

const asked = new URLSearchParams(location.search);
const number = (name: string): number => Number(asked.get(name));

async function open(): Promise<BenchTarget> {
  const make = await SUBJECTS[asked.get("subject") ?? ""]?.();
  const place = document.getElementById("root");
  if (make === undefined || place === null)
    throw new Error("The `subject` in the URL must name a known subject.");
  const subject = make(streamed(number("messages"), number("deltas")));
  createRoot(place).render(
    <Profiler id="thread" onRender={onCommit}>
      {subject.node}
    </Profiler>,
  );
  while (!subject.isReady()) await idle();
  // Wait until lazy parts such as a renderer have loaded and deferred rendering is done.
  await idle(1000);
  return subject;
}

/** Resolves when the page has been idle for a moment. */
async function idle(ms = 50): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  await new Promise((resolve) => requestIdleCallback(resolve));
}

async function stream(subject: BenchTarget): Promise<Smoothness> {
  const wire = new Worker(new URL("./pace.worker.ts", import.meta.url), { type: "module" });
  const stop = watchSmoothness();
  subject.begin();
  await new Promise<void>((resolve) => {
    wire.addEventListener("message", ({ data }: MessageEvent<string | null>) => {
      if (data === null) resolve();
      else subject.receive(data);
    });
    // A worker has no target origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    wire.postMessage({ frames: subject.frames, perSecond: number("pace") } satisfies Paced);
  });
  do await idle();
  while (!document.body.textContent.includes(LAST_SENTENCE));
  wire.terminate();
  return stop();
}

declare global {
  interface Window {
    bench: { readonly ready: Promise<void>; stream(): Promise<Smoothness> };
  }
}

const opened = open();
window.bench = {
  ready: opened.then(() => undefined),
  stream: async () => await stream(await opened),
};

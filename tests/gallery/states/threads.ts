/** `threadStates` lists the states of messages, notices, the connection, the composer and whole threads. */
import { ClientError, type ConnectionView, type PendingMessage } from "@turnstream/client";
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import * as endings from "../logs/endings.ts";
import { shortAnswer } from "../logs/texts.ts";
import { longThread, scenarios, stories } from "../logs/threads.ts";
import { CONNECTING, type GalleryState, of } from "./state.ts";

const log = (write: () => Story) => ({ log: () => write().events });
const answer = log(shortAnswer);
const thread = { ...answer, shows: "thread" } as const;
const composer = { ...answer, shows: "composer" } as const;

const AGENTS = ["market", "analyst", "lawyer"].map((id) => ({ id, label: "", description: "", inputs: [] }));

const lost = new ClientError("OFFLINE", "There is no connection.", { canRetry: true });
const cutOff = new ClientError("UNSURE", "The connection was lost. Send the file again.", { canRetry: true });
const refused = new ClientError("RATE_LIMITED", "Too many messages. Try again in a minute.");

function pendingMessage(status: PendingMessage["status"]): Pick<GalleryState, "view" | "log"> {
  const error = status === "failed" ? refused : null;
  const message: PendingMessage = {
    id: "msg_out",
    text: "And what about MCH?",
    files: [],
    at: 0,
    status,
    error,
    isOwn: true,
  };
  return { ...answer, view: { outbox: [message] } };
}

function connection(view: Partial<ConnectionView>): Omit<GalleryState, "name"> {
  const hasNoBanner = view.phase === "live";
  return {
    ...thread,
    view: { connection: { ...CONNECTING, ...view } },
    // The banner appears after a moment, because short interruptions are not shown.
    ...(hasNoBanner ? {} : { act: untilBanner }),
  };
}

async function untilBanner(root: HTMLElement): Promise<void> {
  for (let frame = 0; frame < 300 && root.querySelector(".ts-banner") === null; frame++)
    await new Promise((resolve) => requestAnimationFrame(resolve));
}

/** A drawing, which is small as a file and looks like something as a thumbnail. */
const DRAWING = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><rect width="40" height="40" fill="#0f766e"/>
<path d="M6 30 16 18l7 7 11-15" fill="none" stroke="#fff" stroke-width="3"/></svg>`;

/** Attaches files, as a user would. */
function attach(root: HTMLElement): void {
  pick(
    root,
    new File([new Uint8Array(482_133)], "Q3 results.pdf", { type: "application/pdf" }),
    new File([new Uint8Array(2_048)], "a note with a rather long name.txt", { type: "text/plain" }),
    new File([DRAWING], "VNM.svg", { type: "image/svg+xml" }),
  );
}

/** Attaches files that the composer refuses: by their size, and by their number. */
function attachTooMuch(root: HTMLElement): void {
  const pages = Array.from({ length: 8 }, (_, n) => new File(["-"], `page-${n + 1}.csv`));
  pick(root, new File([new Uint8Array(26_000_000)], "Q3.mp4", { type: "video/mp4" }), ...pages);
}

function pick(root: HTMLElement, ...files: readonly File[]): void {
  const input = root.querySelector<HTMLInputElement>("input[type=file]");
  if (input === null) return;
  const picked = new DataTransfer();
  for (const file of files) picked.items.add(file);
  input.files = picked.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

const overloaded = {
  text: "The model is overloaded. Finished steps are saved.",
  code: "LLM_ERROR",
  can_retry: true,
  error_type: "transient",
} as const;

export const threadStates: readonly GalleryState[] = [
  ...of("message", {
    plain: { ...answer, at: "run.start" },
    long: log(endings.longMessage),
    files: log(endings.messageWithFiles),
    waiting: { ...log(endings.waitingMessage), at: "message.add 2" },
    "outgoing-waiting": pendingMessage("waiting"),
    "outgoing-sending": pendingMessage("sending"),
    "outgoing-failed": pendingMessage("failed"),
  }),
  ...of("notice", {
    stopped: log(endings.stopped),
    "error-retry": log(() => endings.failed(overloaded)),
    "error-retried": log(() => endings.retried(overloaded)),
    error: log(() =>
      endings.failed({
        text: "This answer is longer than the model allows.",
        code: "CONTEXT_TOO_LONG",
        can_retry: false,
        error_type: "terminal",
      }),
    ),
  }),
  ...of("connection", {
    connecting: connection({ phase: "connecting" }),
    replaying: connection({ phase: "replaying", channel: "websocket" }),
    live: connection({ phase: "live", channel: "websocket" }),
    // The worker of the running turn was lost.
    resuming: {
      ...connection({ phase: "live", channel: "websocket", stalled: "resuming" }),
      at: "text.delta 4",
    },
    "no-worker": {
      ...connection({ phase: "live", channel: "websocket", stalled: "no_worker" }),
      ...log(endings.waitingMessage),
      at: "message.add 2",
    },
    resyncing: connection({ phase: "resyncing", channel: "websocket" }),
    waiting: connection({ phase: "waiting", failures: 3, retryAt: 8_000, error: lost }),
    offline: connection({ phase: "offline", failures: 1, error: lost }),
    closed: connection({
      phase: "closed",
      error: new ClientError("UNAUTHENTICATED", "Sign in again to continue."),
    }),
  }),
  ...of("composer", {
    idle: composer,
    running: { ...composer, at: "text.delta 4" },
    attachments: { ...composer, act: attach },
    "upload-failed": { ...composer, refusal: cutOff, act: attach },
    refused: {
      ...composer,
      composer: { accept: "image/*,.pdf" },
      act: (root) =>
        pick(root, new File(["-"], "Q3.zip"), new File([DRAWING], "VNM.svg", { type: "image/svg+xml" })),
    },
    "too-much": { ...composer, composer: { maxFiles: 3 }, act: attachTooMuch },
    agents: { ...composer, composer: { agents: AGENTS } },
    disabled: { ...composer, composer: { isDisabled: true } },
  }),
  ...of("thread", {
    empty: { ...thread, at: "session.start" },
    suggestions: { ...thread, at: "session.start", hasSuggestions: true },
    older: { ...thread, view: { history: { hasMore: true, isLoading: false, error: null } } },
    "older-loading": { ...thread, view: { history: { hasMore: true, isLoading: true, error: null } } },
    "older-failed": { ...thread, view: { history: { hasMore: true, isLoading: false, error: lost } } },
    "1000-messages": { ...log(() => longThread(1000)), shows: "thread" },
  }),
  ...of(
    "story",
    Object.fromEntries(
      Object.entries(stories).map(([name, events]) => [name, { log: events, shows: "thread" }]),
    ),
  ),
  ...of(
    "scenario",
    Object.fromEntries(
      Object.entries(scenarios).map(([name, events]) => [name, { log: events, shows: "thread" }]),
    ),
  ),
];

/** What a viewer of a dialect must see once it has all of a log: the log encoded from its first event on, and folded. Pure. */
import { isDeepStrictEqual } from "node:util";
import { RenderedState, type ClientDialect } from "@turnstream/conformance/clients/rendered-state.ts";
import { framesFrom } from "@turnstream/conformance/support/replay.ts";
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { resolveBlobUrls } from "@turnstream/protocol/writer";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";

const FRAMES: Readonly<Record<ClientDialect, (events: readonly SessionEvent[]) => readonly object[]>> = {
  blocks: (events) => framesFrom(blocks, emptyState, events),
  tasks: (events) => framesFrom(tasks, emptyState, events),
  responses: (events) => framesFrom(responses, emptyState, events),
  native: (events) => events,
};

export function renderExpected(dialect: ClientDialect, events: readonly SessionEvent[]): RenderedState {
  const screen = new RenderedState(dialect);
  for (const frame of FRAMES[dialect](events)) screen.handle(frame as Parameters<RenderedState["handle"]>[0]);
  return screen;
}

/** Addresses of blobs are signed anew for everybody: that there is one is all that can be compared. */
const ADDRESS = "an address";
const GIVEN_ADDRESS = /"\/api\/v1\/blobs\/[\w.-]+"/g;

/** Where two screens differ, in words; null when they are the same. */
export function findDifference(actual: unknown, expected: unknown): string | null {
  const a = JSON.stringify(actual).replaceAll(GIVEN_ADDRESS, JSON.stringify(ADDRESS));
  const b = JSON.stringify(resolveBlobUrls(expected, () => ADDRESS));
  // In whatever order the fields are: a state that was in PostgreSQL has its own.
  if (isDeepStrictEqual(JSON.parse(a), JSON.parse(b))) return null;
  let at = 0;
  while (a[at] === b[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 80), at + 80);
  return `…${around(a)}… instead of …${around(b)}…`;
}

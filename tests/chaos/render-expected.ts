/**
 * `renderExpected` computes what a client of a dialect must show for a log: the log encoded from its first event, then
 * folded. Pure.
 */
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

/** The URL of a blob is signed for each client, so only its presence is compared. */
const ADDRESS = "an address";
const GIVEN_ADDRESS = /"\/api\/v1\/blobs\/[\w.-]+"/g;

/** Describes the first difference between two states. @returns null if they are equal */
export function findDifference(actual: unknown, expected: unknown): string | null {
  const a = JSON.stringify(actual).replaceAll(GIVEN_ADDRESS, JSON.stringify(ADDRESS));
  const b = JSON.stringify(resolveBlobUrls(expected, () => ADDRESS));
  // Ignore the order of fields: a state from PostgreSQL has its own order.
  if (isDeepStrictEqual(JSON.parse(a), JSON.parse(b))) return null;
  let at = 0;
  while (a[at] === b[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 80), at + 80);
  return `…${around(a)}… instead of …${around(b)}…`;
}

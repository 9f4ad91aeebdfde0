/**
 * `blocks` connects the client to a server of the `blocks` dialect. It loads the history and then follows the stream.
 * Invariant: the subscription starts at the cursor of the history page, so no frame between them is missing or
 * repeated.
 */
import type { ClientDialect } from "@turnstream/client";
import type { BlocksFrame } from "@turnstream/protocol/blocks";
import type { DialectContext } from "../client-seam.ts";
import { DialectAdapter } from "../dialect-adapter.ts";
import { blocksDecoder } from "./decode.ts";
import { historyToFrames, readHistoryPage } from "./history-frames.ts";

const TURNS = 50;

async function load(
  context: DialectContext,
  session: string,
): Promise<{ frames: BlocksFrame[]; cursor: string }> {
  const path = `/sessions/${encodeURIComponent(session)}/history?limit=${TURNS}`;
  const page = readHistoryPage(await context.json(path));
  return { frames: historyToFrames(page, session), cursor: page.last_event_id ?? "0-0" };
}

export const blocks: ClientDialect = {
  name: "blocks",
  connect: (context) =>
    new DialectAdapter({ decoder: blocksDecoder, load, sendsUserMessages: true }, context),
};

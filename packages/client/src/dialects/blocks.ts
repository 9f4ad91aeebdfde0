/**
 * `blocks` (`@turnstream/client/blocks`) connects the client to a server of the `blocks` dialect. It loads the history
 * and then follows the stream.
 * Invariant: the subscription starts at the cursor of the history page, so no frame between them is missing or
 * repeated.
 */
import { blocks as dialect, type BlocksDecoder, type BlocksFrame } from "@turnstream/protocol/blocks";
import type { Api } from "../http/api.ts";
import type { ClientDialect } from "./client-dialect.ts";
import { historyToFrames, readHistoryPage } from "./history-frames.ts";
import { DialectAdapter } from "./dialect-adapter.ts";

const TURNS = 50;

async function load(api: Api, session: string): Promise<{ frames: BlocksFrame[]; cursor: string }> {
  const path = `/sessions/${encodeURIComponent(session)}/history?limit=${TURNS}`;
  const page = readHistoryPage(await api.json(path));
  return { frames: historyToFrames(page, session), cursor: page.last_event_id ?? "0-0" };
}

export const blocks: ClientDialect = {
  name: "blocks",
  connect: (context) =>
    new DialectAdapter<BlocksDecoder, BlocksFrame>({ dialect, load, sendsUserMessages: true }, context),
};

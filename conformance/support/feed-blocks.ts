/** Feeds frames of the `blocks` dialect to a client that is written from the protocol alone. */
import type { BlocksClient } from "../clients/blocks-client.ts";

export function feedBlocks(client: BlocksClient, frames: readonly object[]): BlocksClient {
  for (const frame of frames) client.handle(frame as Record<string, unknown>);
  return client;
}

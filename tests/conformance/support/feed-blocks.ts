/** `feedBlocks` passes frames of the `blocks` dialect to the plain client. */
import type { BlocksClient } from "../clients/blocks-client.ts";

export function feedBlocks(client: BlocksClient, frames: readonly object[]): BlocksClient {
  for (const frame of frames) client.handle(frame as Record<string, unknown>);
  return client;
}

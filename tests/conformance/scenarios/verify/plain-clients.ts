/** Gives the plain clients of all dialects one interface, so that the same code cuts their streams. */
import { responsesToSse } from "@turnstream/protocol/responses";
import { BlocksClient } from "../../clients/blocks-client.ts";
import { SseReader } from "../../clients/sse-reader.ts";
import { TasksClient } from "../../clients/tasks-client.ts";
import type { Frame, HandoffVector } from "../vector-types.ts";

export type DialectName = keyof HandoffVector["resume"];

export interface PlainClient {
  readonly problems: readonly string[];
  handle(frame: Frame): void;
  display(): unknown;
}

/** Creates a client of a dialect. */
export function shownBy(name: DialectName): PlainClient {
  if (name === "blocks") return new BlocksClient();
  if (name === "tasks") return new TasksClient();
  const reader = new SseReader();
  const { problems } = reader;
  const handle = (frame: Frame): void =>
    reader.push(responsesToSse(frame as Parameters<typeof responsesToSse>[0]));
  return { problems, handle, display: () => reader.display() };
}

export function fed<Client extends PlainClient>(client: Client, frames: readonly Frame[]): Client {
  for (const frame of frames) client.handle(frame);
  return client;
}

/** What a client shows after frames, and its problems. */
export function displayOf(client: PlainClient, frames: readonly Frame[]): unknown {
  fed(client, frames);
  return { shown: client.display(), problems: client.problems };
}

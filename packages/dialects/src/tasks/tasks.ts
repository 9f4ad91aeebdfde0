/**
 * `tasks` connects the client to a server of the `tasks` dialect.
 * Invariant: the dialect has no user messages, so the adapter adds those that this client sends. It loads no history.
 */
import type { ClientDialect } from "@turnstream/client";
import { DialectAdapter } from "../dialect-adapter.ts";
import { tasksDecoder } from "./decode.ts";

export const tasks: ClientDialect = {
  name: "tasks",
  connect: (context) => new DialectAdapter({ decoder: tasksDecoder, sendsUserMessages: false }, context),
};

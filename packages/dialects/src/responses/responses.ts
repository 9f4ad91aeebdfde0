/**
 * `responses` connects the client to a server of the `responses` dialect: one SSE stream per turn.
 * Invariant: a stream ends with its turn, so this dialect always uses `openResponsesChannel`, never the channel of the
 * transport. It loads no history, and the adapter adds the user messages that this client sends.
 */
import type { ClientDialect } from "@turnstream/client";
import { DialectAdapter } from "../dialect-adapter.ts";
import { responsesDecoder } from "./decode.ts";
import { openResponsesChannel } from "./responses-channel.ts";

export const responses: ClientDialect = {
  name: "responses",
  channels: ["sse"],
  connect(context) {
    const adapter = new DialectAdapter({ decoder: responsesDecoder, sendsUserMessages: false }, context);
    return {
      openChannel: (_, events) => adapter.openChannel((own) => openResponsesChannel(context, own), events),
    };
  },
};

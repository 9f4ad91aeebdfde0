/**
 * `responses` (`@turnstream/client/responses`) connects the client to a server of the `responses` dialect: one SSE
 * stream per turn.
 * Invariant: a stream ends with its turn, so this dialect always uses `openResponsesChannel`, never the channel of the
 * transport. It loads no history, and the adapter adds the user messages that this client sends.
 */
import {
  responses as dialect,
  type ResponsesDecoder,
  type ResponsesFrame,
} from "@turnstream/protocol/responses";
import type { ClientDialect } from "./client-dialect.ts";
import { openResponsesChannel } from "./responses-channel.ts";
import { DialectAdapter } from "./dialect-adapter.ts";

export const responses: ClientDialect = {
  name: "responses",
  connect(context) {
    const adapter = new DialectAdapter<ResponsesDecoder, ResponsesFrame>(
      { dialect, sendsUserMessages: false },
      context,
    );
    // Its streams end with their turn, so the dialect needs its own channel.
    return {
      openChannel: (_, events) => adapter.openChannel((own) => openResponsesChannel(context, own), events),
    };
  },
};

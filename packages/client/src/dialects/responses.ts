/** `@turnstream/client/responses`: sessions of a server that speaks `responses`, turn by turn. */
import {
  responses as dialect,
  type ResponsesDecoder,
  type ResponsesFrame,
} from "@turnstream/protocol/responses";
import type { ClientDialect } from "./client-dialect.ts";
import { openResponses } from "./responses-channel.ts";
import { Translator } from "./dialect-adapter.ts";

export const responses: ClientDialect = {
  name: "responses",
  begin(parts) {
    const translator = new Translator<ResponsesDecoder, ResponsesFrame>(
      { dialect, tellsMessages: false },
      parts,
    );
    // Its streams end with their turn, so it has a wire of its own.
    return { open: (_, events) => translator.open((own) => openResponses(parts, own), events) };
  },
};

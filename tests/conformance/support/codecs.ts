/**
 * `blocks`, `tasks` and `responses` are the dialects with their decoders, for tests of both directions. `Codec` is
 * their type.
 */
import { blocks as blocksDialect } from "@turnstream/protocol/blocks";
import { responses as responsesDialect } from "@turnstream/protocol/responses";
import { tasks as tasksDialect } from "@turnstream/protocol/tasks";
import type { Dialect } from "@turnstream/protocol/writer";
import { blocksDecoder } from "../../../packages/dialects/src/blocks/decode.ts";
import type { Decoder, Decoding } from "../../../packages/dialects/src/decoder/decoder.ts";
import { responsesDecoder } from "../../../packages/dialects/src/responses/decode.ts";
import { tasksDecoder } from "../../../packages/dialects/src/tasks/decode.ts";

export type { Decoder, Decoding };
export type Codec<E, D extends Decoding, F, O> = Dialect<E, F, O> & Decoder<D, F>;

export const blocks: typeof blocksDialect & typeof blocksDecoder = { ...blocksDialect, ...blocksDecoder };
export const tasks: typeof tasksDialect & typeof tasksDecoder = { ...tasksDialect, ...tasksDecoder };
export const responses: typeof responsesDialect & typeof responsesDecoder = {
  ...responsesDialect,
  ...responsesDecoder,
};

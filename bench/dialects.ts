/**
 * `benchDialects` measures what encoding and decoding cost compared with the fold, and how both grow with the length of
 * a turn.
 */
import {
  blocks,
  type Codec,
  type Decoding,
  responses,
  tasks,
} from "@turnstream/conformance/support/codecs.ts";
import { decodeAll, framesFrom } from "@turnstream/conformance/support/replay.ts";
import { emptyState, type SessionEvent, foldAll } from "@turnstream/protocol";
import { alternate, growth, type Measurement, ratio, round } from "./measure.ts";
import { manySteps, typicalTurn } from "./workloads.ts";

interface Runs {
  readonly encode: (events: readonly SessionEvent[]) => unknown[];
  readonly decode: (frames: readonly unknown[]) => unknown;
}

function runsOf<E, D extends Decoding, F, O>(dialect: Codec<E, D, F, O>): Runs {
  return {
    encode: (events) => framesFrom(dialect, emptyState, events),
    decode: (frames) => decodeAll(dialect, frames as readonly F[]),
  };
}

const DIALECTS: Readonly<Record<string, Runs>> = {
  blocks: runsOf(blocks),
  tasks: runsOf(tasks),
  responses: runsOf(responses),
};

function parsed(frames: readonly string[]): SessionEvent[] {
  return frames.map((frame) => JSON.parse(frame) as SessionEvent);
}

export function benchDialects(): Measurement[] {
  const turn = parsed(typicalTurn());
  const [few, many] = [parsed(manySteps(250)), parsed(manySteps(2_000))];
  return Object.entries(DIALECTS).flatMap(([name, { encode, decode }]) => {
    const frames = encode(turn);
    const typical = alternate({
      fold: () => foldAll(turn),
      encode: () => encode(turn),
      decode: () => decode(frames),
    });
    const [fewFrames, manyFrames] = [encode(few), encode(many)];
    const sizes = alternate(
      {
        fewEncoded: () => encode(few),
        manyEncoded: () => encode(many),
        fewDecoded: () => decode(fewFrames),
        manyDecoded: () => decode(manyFrames),
      },
      5,
      2,
    );
    return [
      {
        measure: `${name}: encode / fold of a typical turn`,
        value: ratio(typical, "encode", "fold"),
        atMost: 6,
      },
      {
        measure: `${name}: decode / fold of a typical turn`,
        value: ratio(typical, "decode", "fold"),
        atMost: 6,
      },
      {
        measure: `${name}: growth exponent of encode, 250 to 2,000 steps in one turn`,
        value: round(growth(sizes["fewEncoded"] ?? 0, sizes["manyEncoded"] ?? 0, 8)),
        atMost: 1.3,
      },
      {
        measure: `${name}: growth exponent of decode, 250 to 2,000 steps in one turn`,
        value: round(growth(sizes["fewDecoded"] ?? 0, sizes["manyDecoded"] ?? 0, 8)),
        atMost: 1.6,
        note: `${round((1000 * (sizes["manyDecoded"] ?? 0)) / manyFrames.length)} us a frame at 2,000 steps`,
      },
    ];
  });
}

/**
 * `benchFold` measures what the fold costs compared with parsing its frames, and how that grows.
 *
 * Invariant: all figures are ratios of medians that are measured side by side.
 */
import { emptyState, type SessionEvent, fold, type SessionState } from "@turnstream/protocol";
import { connectedClients, onWire, parseAndJoin, sink } from "./fold-readers.ts";
import { alternate, growth, type Measurement, ratio, RUNS, round } from "./measure.ts";
import { longAnswer, longArguments, longCall, manyRecords, turnAfter, typicalTurn } from "./workloads.ts";

/** Growth is measured on runs that are long compared with the machine's noise. */
const LONGER = 5;

function parseAll(frames: readonly string[]): void {
  for (const frame of frames) sink.value = JSON.parse(frame);
}

function parsed(frames: readonly string[]): SessionEvent[] {
  return frames.map((frame) => JSON.parse(frame) as SessionEvent);
}

function foldEvents(events: readonly SessionEvent[], from: SessionState = emptyState): SessionState {
  let state = from;
  for (const event of events) state = fold(state, event);
  sink.value = state;
  return state;
}

export async function benchFold(): Promise<Measurement[]> {
  const w1 = onWire(typicalTurn());
  const next = await connectedClients(RUNS * LONGER);
  const w1Events = parsed(w1);
  const typical = alternate({
    parse: () => parseAll(w1),
    fold: () => foldEvents(w1Events),
  });
  const reading = alternate({
    floor: () => {
      for (let n = 0; n < LONGER; n++) parseAndJoin(w1);
    },
    client: () => {
      for (let n = 0; n < LONGER; n++) next()(w1);
    },
  });

  const short = parsed(longAnswer(2_000));
  const long = parsed(longAnswer(20_000));
  const answers = alternate({
    // Ten times as many short runs, so that both candidates take about the same time.
    short: () => {
      for (let n = 0; n < 10 * LONGER; n++) foldEvents(short);
    },
    long: () => {
      for (let n = 0; n < LONGER; n++) foldEvents(long);
    },
  });

  const text = await calls("one long string", longArguments);
  const records = await calls("many records", manyRecords);

  const alone = parsed(turnAfter(0, 2_000));
  const crowded = parsed(turnAfter(200, 2_000));
  const prefix = crowded.length - alone.length;
  const before = foldEvents(crowded.slice(0, prefix));
  const tail = crowded.slice(prefix);
  const threads = alternate({ alone: () => foldEvents(alone), crowded: () => foldEvents(tail, before) });

  return [
    {
      measure: "typical turn: fold / JSON.parse of its frames",
      value: ratio(typical, "fold", "parse"),
      atMost: 2,
    },
    {
      measure: "typical turn: a client reading its frames / parse and join (goal 3)",
      value: ratio(reading, "client", "floor"),
      atMost: 3,
    },
    {
      measure: "growth exponent, 2,000 to 20,000 text deltas",
      value: round(growth((answers["short"] ?? 0) / 10, answers["long"] ?? 0, 10)),
      atMost: 1.1,
    },
    ...text,
    ...records,
    {
      measure: "2,000 deltas after 200 turns / in an empty session",
      value: ratio(threads, "crowded", "alone"),
      atMost: 1.5,
      note: "the fold of a delta must not depend on what came before",
    },
  ];
}

/** Measures 4,000 argument deltas of 40 kB in total, of one shape. */
async function calls(shape: string, make: (length: number) => string[]): Promise<Measurement[]> {
  const w2 = onWire(longCall(make(40_000)));
  const next = await connectedClients(RUNS);
  const events = parsed(w2);
  const small = parsed(longCall(make(10_000)));
  const large = parsed(longCall(make(80_000)));
  const times = alternate({
    parse: () => parseAll(w2),
    fold: () => foldEvents(events),
    floor: () => parseAndJoin(w2),
    client: () => next()(w2),
  });
  const sizes = alternate({
    small: () => {
      for (let n = 0; n < 8 * LONGER; n++) foldEvents(small);
    },
    large: () => {
      for (let n = 0; n < LONGER; n++) foldEvents(large);
    },
  });
  return [
    {
      measure: `4,000 argument deltas, ${shape}: fold / JSON.parse of its frames`,
      value: ratio(times, "fold", "parse"),
      atMost: 3,
      note: `${w2.length} frames`,
    },
    {
      measure: `4,000 argument deltas, ${shape}: a client that reads the partial value at every delta / parse and join (goal 4)`,
      value: ratio(times, "client", "floor"),
      ...(shape === "one long string" ? { atMost: 4 } : {}),
    },
    {
      measure: `4,000 argument deltas, ${shape}: growth exponent from 10 kB to 80 kB (goal 1.05)`,
      value: round(growth((sizes["small"] ?? 0) / 8, sizes["large"] ?? 0, 8)),
      atMost: 1.1,
    },
  ];
}

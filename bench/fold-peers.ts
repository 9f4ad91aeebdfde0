/**
 * `benchFoldPeers` (`fold --peers`) measures other libraries on the same turns, as multiples of the same baseline:
 * parsing our frames and joining their text. Each library gets its own frames as JSON text and returns its own message
 * after every delta. Does not run in CI, because two libraries take seconds for a long call.
 */
import type { SessionEvent } from "@turnstream/protocol";
import { connectedClients, onWire, parseAndJoin } from "./fold-readers.ts";
import { alternateAsync, growth, type Measurement, ratio, round } from "./measure.ts";
import { toAgUiEvents } from "./peers/ag-ui-events.ts";
import { toAssistantChunks } from "./peers/assistant-chunks.ts";
import { readByAgUi, readByAi, readByAssistantStream } from "./peers/readers.ts";
import { toUiChunks } from "./peers/ui-chunks.ts";
import { longArguments, longCall, typicalTurn } from "./workloads.ts";

/** Fast candidates repeat this often per measurement, so that the timer's resolution is sufficient. */
const TIMES = 20;

const PEERS = ["ai readUIMessageStream", "@ag-ui/client runAgent", "assistant-stream accumulator"] as const;

type Candidates = Readonly<Record<string, () => Promise<unknown>>>;

function lines(frames: readonly object[]): string[] {
  return frames.map((frame) => JSON.stringify(frame));
}

function often(run: () => void): () => Promise<void> {
  return async () => {
    for (let n = 0; n < TIMES; n++) run();
  };
}

/** @param runs how often each candidate will run */
async function candidates(log: readonly string[], runs: number): Promise<Candidates> {
  const frames = onWire(log);
  const next = await connectedClients(runs * TIMES);
  const events = frames.map((frame) => JSON.parse(frame) as SessionEvent);
  const [ai, agUi, assistant] = [toUiChunks, toAgUiEvents, toAssistantChunks].map((make) =>
    lines(make(events)),
  );
  return {
    floor: often(() => parseAndJoin(frames)),
    "@turnstream/client": often(() => next()(frames)),
    [PEERS[0]]: () => readByAi(ai ?? []),
    [PEERS[1]]: () => readByAgUi(agUi ?? []),
    [PEERS[2]]: () => readByAssistantStream(assistant ?? []),
  };
}

/** Converts times to one turn: slow candidates run once per measurement, fast ones `TIMES` times. */
function perTurn(times: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(times).map(([name, time]) => [
      name,
      (PEERS as readonly string[]).includes(name) ? time : time / TIMES,
    ]),
  );
}

export async function benchFoldPeers(): Promise<Measurement[]> {
  const typical = perTurn(await alternateAsync(await candidates(typicalTurn(), 8), 5, 3));
  const short = perTurn(await alternateAsync(await candidates(longCall(longArguments(10_000)), 5), 3, 2));
  const long = perTurn(await alternateAsync(await candidates(longCall(longArguments(40_000)), 4), 3, 1));
  return ["@turnstream/client", ...PEERS].flatMap((name): Measurement[] => [
    { measure: `W1, ${name} / parse and join`, value: ratio(typical, name, "floor") },
    { measure: `W2, ${name} / parse and join`, value: ratio(long, name, "floor") },
    {
      measure: `W2, ${name}: growth exponent from 10 kB to 40 kB`,
      value: round(growth(short[name] ?? Number.NaN, long[name] ?? Number.NaN, 4)),
    },
  ]);
}

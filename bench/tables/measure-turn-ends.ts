/**
 * `measureTurnEnds` compares how many turns can end per second in one tenant and in 24 tenants, in alternating rounds.
 * With a row that all turns of a tenant change, one tenant would be slower.
 */
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement, round } from "../measure.ts";
import type { TablesSize } from "./tables.ts";
import {
  CONCURRENCY,
  createTenants,
  endTurn,
  runAll,
  startTurns,
  type TablesEnvironment,
} from "./turn-ends.ts";

const WARM_UPS = 2;
const MIN_RATIO = 0.95;

export async function measureTurnEnds(
  { store }: TablesEnvironment,
  { rounds, turns }: TablesSize,
): Promise<Measurement[]> {
  const one = await createTenants(store, "one", 1);
  const many = await createTenants(store, "many", CONCURRENCY);
  for (const tenant of [...one, ...many])
    await store.webhooks.create(tenant, { url: "https://receiver.example/" });
  const endsPerSecond = async (tenants: readonly string[]): Promise<number> => {
    const started = await startTurns(store, tenants, turns);
    const since = performance.now();
    await runAll(started, (turn) => endTurn(store, turn));
    return turns / ((performance.now() - since) / 1_000);
  };
  const [ofOne, ofMany]: [number[], number[]] = [[], []];
  for (let n = -WARM_UPS; n < rounds; n++) {
    // Each is first as often as the other.
    const isOneFirst = n % 2 === 0;
    const first = await endsPerSecond(isOneFirst ? one : many);
    const second = await endsPerSecond(isOneFirst ? many : one);
    if (n < 0) continue;
    ofOne.push(isOneFirst ? first : second);
    ofMany.push(isOneFirst ? second : first);
  }
  const days = await Promise.all(
    [...one, ...many].map((tenant) => store.usage.list(tenant, "2000-01-01", "2999-12-31")),
  );
  const counted = days.flat().reduce((sum, day) => sum + day.turns, 0);
  const expected = 2 * turns * (rounds + WARM_UPS);
  return [
    figure(`ends of turns per second, ${CONCURRENCY} at a time, one tenant`, median(ofOne), "/s"),
    figure(
      `ends of turns per second, ${CONCURRENCY} at a time, ${CONCURRENCY} tenants`,
      median(ofMany),
      "/s",
    ),
    {
      measure: "one tenant / many tenants, median of the rounds",
      value: round(median(ofOne.map((value, n) => value / (ofMany[n] ?? Number.NaN)))),
      atLeast: MIN_RATIO,
    },
    figure("turns that ended and are not in the usage", expected - counted, "", 0),
  ];
}

/**
 * `measureSlowness` compares the CPU time of a fixed work with the shortest time that it ever took in this process.
 * Invariant: it is at least 1. It shows how much other processes slow this one down, because they share the caches and
 * cores of the processor. It does not compare machines.
 */

const SAMPLE = JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ n, text: `item ${n}` })));
const SAMPLES = 20;
/** The clock of CPU time is coarse, so that a single pass could take no time. */
const PASSES = 5;

let shortestMs = Infinity;

export function measureSlowness(): number {
  const samples = Array.from({ length: SAMPLES }, measureSample);
  shortestMs = Math.min(shortestMs, ...samples.filter((ms) => ms > 0));
  return Math.max(1, samples.reduce((sum, ms) => sum + ms, 0) / SAMPLES / shortestMs);
}

function measureSample(): number {
  const before = process.threadCpuUsage();
  for (let n = 0; n < PASSES; n++) JSON.stringify(JSON.parse(SAMPLE));
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

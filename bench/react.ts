/**
 * `benchReact` measures what a page spends on a streaming answer (W1, 200 frames a second), in an empty thread and in
 * one of 200 messages. It compares other libraries on the same turn. All run alternately in one run, and medians of the
 * rounds count. `--short` runs one round of a shorter answer as a smoke test.
 */
import { openBrowser } from "@turnstream/browser/chromium.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement, percentile, round } from "./measure.ts";
import { buildPages, type Cost, streamInto, type TargetName } from "./react/page.ts";

const NAMES: Readonly<Record<TargetName, string>> = {
  turnstream: "Turnstream",
  "use-chat": "useChat + react-markdown",
  "use-chat-memo": "useChat + react-markdown, memoized, throttle 50",
  streamdown: "useChat + Streamdown, memoized",
};
const SUBJECTS = Object.keys(NAMES) as TargetName[];
const THREADS = { "empty thread": 0, "200 messages": 200 } as const;
type Thread = keyof typeof THREADS;
const PACE = 200;

/** A long session: 1,000 messages, and an answer of 50,000 deltas at ten times the usual rate. */
const LONG = { subject: "turnstream", messages: 1000, deltas: 50_000, pace: 2000 } as const;

type Costs = Readonly<Record<string, readonly Cost[]>>;

export async function benchReact(): Promise<Measurement[]> {
  const isShort = process.argv.includes("--short");
  const [rounds, deltas] = isShort ? [1, 400] : [3, 2000];
  const pages = await buildPages();
  const browser = await openBrowser();
  const costs: Record<string, Cost[]> = {};
  try {
    for (let n = 0; n < rounds; n++)
      for (const [thread, messages] of Object.entries(THREADS))
        for (const subject of SUBJECTS) {
          const cost = await streamInto(browser, pages.url, { subject, messages, deltas, pace: PACE });
          (costs[key(subject, thread)] ??= []).push(cost);
        }
    const long = isShort ? [] : longThread(await streamInto(browser, pages.url, LONG));
    return [...Object.keys(THREADS).flatMap((thread) => measurements(costs, thread as Thread)), ...long];
  } finally {
    await browser.close();
    await pages.close();
  }
}

function key(subject: TargetName, thread: string): string {
  return `${subject}, ${thread}`;
}

function measurements(costs: Costs, thread: Thread): Measurement[] {
  const of = (subject: TargetName, read: (cost: Cost) => number): number =>
    median((costs[key(subject, thread)] ?? []).map((cost) => read(cost)));
  const script = (subject: TargetName): number => of(subject, ({ scriptMs }) => scriptMs);
  const rows = SUBJECTS.flatMap((subject): Measurement[] => {
    const title = `${thread}, ${NAMES[subject]}`;
    const isOurs = subject === "turnstream";
    return [
      figure(`${title}: scripting`, script(subject), "ms of CPU time"),
      figure(
        `${title}: total main-thread work`,
        of(subject, ({ taskMs }) => taskMs),
        "ms of CPU time",
      ),
      figure(
        `${title}: render of a commit, p95`,
        of(subject, ({ commits }) => percentile(commits, 0.95)),
        "ms",
      ),
      figure(
        `${title}: commits`,
        of(subject, ({ commits }) => commits.length),
        "count",
      ),
      figure(
        `${title}: scripting per commit`,
        of(subject, ({ scriptMs, commits }) => scriptMs / commits.length),
        "ms of CPU time; a page that can't keep up commits less often",
      ),
      figure(
        `${title}: tasks over 50 ms of CPU time`,
        of(subject, ({ longTasksCpu }) => longTasksCpu.length),
        "count",
        isOurs ? 0 : undefined,
      ),
      figure(
        `${title}: tasks over 50 ms of wall-clock time`,
        of(subject, ({ longTasks }) => longTasks.length),
        "count; on a busy machine this includes other programs",
      ),
      figure(
        `${title}: dropped frames`,
        of(subject, ({ droppedFrames }) => droppedFrames),
        "count",
      ),
    ];
  });
  const value = round(script("turnstream") / script("use-chat"));
  const isBound = thread === "200 messages";
  const ratio = { measure: `${thread}: scripting, Turnstream / useChat + react-markdown`, value };
  return [...rows, isBound ? { ...ratio, atMost: 1 / 3 } : ratio];
}

function longThread({ scriptMs, longTasksCpu, commits, heapMb, loadMs }: Cost): Measurement[] {
  const title = "1,000 messages, an answer of 50,000 deltas at 2,000 a second";
  return [
    figure(`${title}: from opening the page until it is idle`, loadMs, "ms of wall-clock time"),
    figure(`${title}: scripting`, scriptMs, "ms of CPU time"),
    figure(`${title}: render of a commit, p95`, percentile(commits, 0.95), "ms"),
    // No bound: the rate is ten times the usual one, and there is only one round.
    figure(`${title}: tasks over 50 ms of CPU time`, longTasksCpu.length, "count"),
    figure(`${title}: longest of these`, Math.max(0, ...longTasksCpu), "ms of CPU time"),
    figure(`${title}: heap at its end`, heapMb, "MB"),
  ];
}

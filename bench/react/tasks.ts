/**
 * `traceTasks` reads the CPU time of each task of a page's main thread from Chromium's trace. The wall-clock time that
 * pages see for long tasks also counts other programs on a busy machine.
 */
import type { CDPSession } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** CPU time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** `stop()` returns the milliseconds of every task. */
export async function traceTasks(cdp: CDPSession): Promise<{ stop(): Promise<number[]> }> {
  const events: TraceEvent[] = [];
  cdp.on("Tracing.dataCollected", ({ value }) => {
    for (const event of value as unknown as TraceEvent[]) events.push(event);
  });
  await cdp.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel"], excludedCategories: ["*"] },
  });
  return {
    async stop() {
      const done = new Promise((resolve) => cdp.once("Tracing.tracingComplete", resolve));
      await cdp.send("Tracing.end");
      await done;
      return tasksOf(events);
    },
  };
}

function tasksOf(events: readonly TraceEvent[]): number[] {
  const thread = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const main = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map((event) => thread(event)),
  );
  if (main.size === 0) throw new Error("The trace names no main thread of a page. The bench needs Chromium.");
  return events
    .filter((event) => event.name === "ThreadControllerImpl::RunTask" && main.has(thread(event)))
    .map(({ tdur = 0 }) => tdur / 1000);
}

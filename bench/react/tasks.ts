/**
 * What each task of a page's main thread took of the processor, from Chromium's trace. The clock on the wall, by which
 * pages see long tasks, also counts what other programs did on a busy machine.
 */
import type { CDPSession } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of processor time. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Stopping gives the milliseconds of every task. */
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
  if (main.size === 0) throw new Error("The trace names no main thread of a page: is this still Chromium?");
  return events
    .filter((event) => event.name === "ThreadControllerImpl::RunTask" && main.has(thread(event)))
    .map(({ tdur = 0 }) => tdur / 1000);
}

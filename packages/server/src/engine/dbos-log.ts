/** `loggerTo` passes warnings and errors of DBOS to a function of the caller. Nothing reaches the console. */
import type { DLogger } from "@dbos-inc/dbos-sdk/internal/telemetry/logs";

export type EngineLog = (level: "warn" | "error", text: string) => void;

/** DBOS logs this whenever we leave jobs to other executors, which is normal. */
const EXPECTED = /^Shutting down while \d+ workflows are still running/;

const drop = () => undefined;

export function loggerTo(log: EngineLog | undefined): DLogger {
  const tell = (level: "warn" | "error") => (entry: unknown) => {
    const text = String(entry);
    if (!EXPECTED.test(text)) log?.(level, text);
  };
  return { debug: drop, info: drop, warn: tell("warn"), error: tell("error") };
}

/** Waiting with an end. Never keeps a process alive, except where told that somebody waits for the outcome. */
import { LogError } from "../../errors.ts";

export interface TimeoutOptions {
  readonly ms: number;
  /** What can't be had, for the error: "No answer". */
  readonly message: string;
  /** Somebody waits for it: the process has to stay. */
  readonly keepAlive?: boolean;
}

/** A process that stood still counts that as one part only: what came meanwhile is read before the time is up. */
const PARTS = 4;

export async function withTimeout<T>(
  work: Promise<T>,
  { ms, message, keepAlive = false }: TimeoutOptions,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let left = PARTS;
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new LogError("UNAVAILABLE", { detail: `${message} in ${ms} ms` }));
    timer = setInterval(() => --left === 0 && fail(), ms / PARTS);
    if (!keepAlive) timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
  }
}

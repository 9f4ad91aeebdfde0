/**
 * `runProcess` runs a process of the example: it reports to its parent that it is ready, or why it failed, and exits
 * when the parent does.
 */
export type ProcessMessage = { readonly ready: string } | { readonly failed: string };

/** The parent handles Ctrl-C. */
for (const name of ["SIGINT", "SIGHUP"] as const) process.on(name, () => undefined);

/** @param start starts the process, and returns its ready message and a function that stops it */
export async function runProcess(
  start: () => Promise<{ ready: string; leave: () => Promise<void> }>,
): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    process.once("disconnect", resolve);
    process.once("SIGTERM", () => resolve());
  });
  try {
    const { ready, leave } = await start();
    sendToParent({ ready });
    await stopped;
    await leave();
    process.exit(0);
  } catch (error) {
    sendToParent({ failed: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  }
}

function sendToParent(message: ProcessMessage): void {
  if (process.connected) process.send?.(message);
}

export function readSetting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "")
    throw new Error(`${name} is not set. Start this process with "npm start".`);
  return value;
}

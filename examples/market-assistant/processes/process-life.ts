/** How a process of the example lives: says that it is ready, or why not, and leaves when whoever started it is gone. */
export type ProcessMessage = { readonly ready: string } | { readonly failed: string };

/** Ctrl-C is for whoever started us. */
for (const name of ["SIGINT", "SIGHUP"] as const) process.on(name, () => undefined);

/** @param start gives what to say, and how to leave */
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
  if (value === undefined || value === "") throw new Error(`${name} is not set: start this by "npm start".`);
  return value;
}

/** Starts the worker together with Next.js. */
export async function register() {
  // Next.js compiles this file for its Edge runtime too, where Turnstream can't run.
  if (process.env.NEXT_RUNTIME === "nodejs") {
    const { app } = await import("./turnstream.ts");
    await app.register();
  }
}

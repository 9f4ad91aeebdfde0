/** Runs the server of the README as it is printed, without PostgreSQL and Redis, and uses it with a client. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { listBlocks } from "@turnstream/protocol";
import { expect, onTestFinished, test } from "vitest";
import { signIn } from "../../src/auth/sign-in.ts";
import { createClient } from "../../src/client.ts";
import type { SessionView } from "../../src/session/session.ts";
import { until } from "./live-gateway.ts";

const root = new URL("../../../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");
const fence = (language: string) =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "s").exec(readme)?.[1] ?? "";

const countLines = (code: string) => code.trim().split("\n").length;

/** Starts the program on a free port. */
async function start(program: string): Promise<string> {
  const child = spawn(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    {
      cwd: new URL("packages/server/test/", root),
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...process.env, PORT: "0", DATABASE_URL: "", REDIS_URL: "", TURNSTREAM_SECRET: "" },
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end(program);
  for await (const line of createInterface({ input: child.stderr })) {
    const url = /listens on (\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("the program ended before its server started");
}

function lastTurn({ state }: SessionView) {
  const turn = state.turns.last();
  return turn === undefined ? [] : listBlocks(turn);
}

function approvalIn(view: SessionView): string | null {
  const block = lastTurn(view).find((each) => each.kind === "approval" && each.status === "pending");
  return block?.kind === "approval" ? block.key : null;
}

test("the README's program asks for approval and answers", async () => {
  const started = performance.now();
  const url = await start(fence("ts"));
  const client = createClient({ url, auth: () => signIn(url) });
  const { id } = await client.createSession();
  const session = client.session(id);
  session.send({ text: "Buy 100 VNM" });
  const asked = await until(session, "asked", (view) => approvalIn(view) !== null);
  const seconds = (performance.now() - started) / 1_000;
  console.log(`first answer ${seconds.toFixed(1)} s after the start of the program`);
  await session.decideApproval(approvalIn(asked) ?? "", { decision: "approve" });
  await until(session, "answered", ({ state }) => state.turns.last()?.status === "end_turn");
  const blocks = lastTurn(session.getSnapshot());
  expect(blocks.some((block) => block.kind === "text" && block.text === "Done.")).toBe(true);
  expect(JSON.stringify(blocks)).toContain("Bought 100 VNM.");
});

test("the README's server has at most 12 lines, and its page at most 8", () => {
  expect(countLines(fence("ts"))).toBeLessThanOrEqual(12);
  expect(countLines(fence("tsx"))).toBeLessThanOrEqual(8);
});

/** Runs the agent of the README as `npm run demo` does, and uses it with a client. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { listBlocks } from "@turnstream/protocol";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
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

/** Starts the demo on a free port. The page is not built, and not used. */
async function start(): Promise<string> {
  const cli = fileURLToPath(new URL("packages/cli/src/main.ts", root));
  const options = ["--data", await createDataFolder(), "--page", "packages/cli/page"];
  const child = spawn(
    process.execPath,
    ["--conditions=@turnstream/source", cli, "dev", "examples/readme/agent.ts", ...options],
    {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, PORT: "0", DATABASE_URL: "", REDIS_URL: "", TURNSTREAM_SECRET: "" },
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
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

test("the README's agent asks for approval and answers", async () => {
  const url = await start();
  const client = createClient({ url, auth: () => signIn(url) });
  const { id } = await client.createSession();
  const session = client.session(id);
  session.send({ text: "Buy 100 VNM" });
  const asked = await until(session, "asked", (view) => approvalIn(view) !== null);
  await session.decideApproval(approvalIn(asked) ?? "", { decision: "approve" });
  await until(session, "answered", ({ state }) => state.turns.last()?.status === "end_turn");
  const blocks = lastTurn(session.getSnapshot());
  expect(blocks.some((block) => block.kind === "text" && block.text === "Done.")).toBe(true);
  expect(JSON.stringify(blocks)).toContain("Bought 100 VNM.");
});

test("the README's agent has at most 13 lines, and its page at most 8", () => {
  expect(countLines(fence("ts"))).toBeLessThanOrEqual(13);
  expect(countLines(fence("tsx"))).toBeLessThanOrEqual(8);
});

/** Runs the programs of docs/hono-and-node.md as they are printed, and uses each with a client. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { listBlocks } from "@turnstream/protocol";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { expect, onTestFinished, test } from "vitest";
import { signIn } from "../../src/auth/sign-in.ts";
import { createClient } from "../../src/client.ts";
import { until } from "./live-gateway.ts";

const root = new URL("../../../../", import.meta.url);
const page = readFileSync(new URL("docs/hono-and-node.md", root), "utf8");

function programUnder(heading: string): string {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const program = /```ts\n(.*?)```/s.exec(section)?.[1];
  if (program === undefined) throw new Error(`docs/hono-and-node.md has no program under ${heading}.`);
  return program;
}

test.each(["Hono", "Node"])("the program for %s serves its own routes and an answer", async (name) => {
  const program = programUnder(name === "Node" ? "Plain Node, Express and Fastify" : name);
  const folder = await createDataFolder();
  symlinkSync(fileURLToPath(new URL("node_modules", root)), join(folder, "node_modules"));
  const child = spawn(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
      env: { ...process.env, PORT: "0", DATABASE_URL: "", REDIS_URL: "", TURNSTREAM_SECRET: "" },
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  child.stdin.end(program);
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const url = new URL(line).origin;
  expect(await (await fetch(url)).text()).toBe("your own routes stay as they are");

  const client = createClient({ url, auth: () => signIn(url) });
  const { id } = await client.createSession();
  const session = client.session(id);
  session.send({ text: "Hello" });
  const { state } = await until(
    session,
    "answered",
    (view) => view.state.turns.last()?.status === "end_turn",
  );
  const turn = state.turns.last();
  const texts =
    turn === undefined ? [] : listBlocks(turn).flatMap((block) => (block.kind === "text" ? block.text : []));
  expect(texts).toEqual([`Hello from ${name}.`]);

  client.close();
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

/** The program in the README does what it says, on real servers. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/services/shared.ts";
import { expect, test } from "vitest";

test("the README's program runs, shows the state, and goes on live", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, code = ""] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const program = code
    .replace("redis://127.0.0.1:6379", sharedRedisUrl())
    .replace("postgres://postgres@127.0.0.1:5432/turnstream", await freshDatabaseUrl())
    // What somebody else says while it listens.
    .replace(
      "\nfor await",
      `\nsetTimeout(() => log.append("s1", { writer: "other", counter: 1, events: [{ type: "session.update", title: "Bye" }] }), 100);\nfor await`,
    );
  const child = spawn(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    {
      cwd: new URL(".", import.meta.url),
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  child.stdin.end(program);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === 2) child.kill("SIGKILL");
  }
  expect(lines[0]).toMatch(/^Hello at \d+-2$/);
  expect(lines[1]).toMatch(/^\d+-3 session\.update$/);
});

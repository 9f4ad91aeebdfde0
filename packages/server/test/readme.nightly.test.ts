/** Runs the program of the README on real servers. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test } from "vitest";

test("the README's program runs a turn and prints all of its events", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, code = ""] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const program = code
    .replace("redis://127.0.0.1:6379", sharedRedisUrl())
    .replace("postgres://postgres@127.0.0.1:5432/turnstream", await freshDatabaseUrl());
  const child = spawn(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    {
      cwd: new URL(".", import.meta.url),
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, PORT: "0" },
    },
  );
  child.stdin.end(program);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line.trim());
    if (line.startsWith("turn.end")) child.kill("SIGKILL");
  }
  expect(lines).toContain("turn.start");
  expect(lines).toContain("tool_result.end");
  expect(
    lines
      .filter((line) => line.startsWith("text.delta"))
      .join("")
      .replaceAll("text.delta ", ""),
  ).toBe("VNM stands at 61.5.");
});

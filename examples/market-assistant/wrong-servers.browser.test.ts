/** Tests the example with servers that can't be reached, and its choice of a language. Opens no page. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { expect, test } from "vitest";
import { checkServers } from "./cli/check-servers.ts";
import { localeFor } from "./shared/locales.ts";

test("stops with one line per unreachable server, before it builds anything", async () => {
  const port = await freePort();
  const child = spawn("npm", ["start", "--silent", "--", "--port", "0"], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      DATABASE_URL: `postgres://me:canary@127.0.0.1:${port}/market`,
      REDIS_URL: `redis://:canary@127.0.0.1:${port}`,
    },
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  expect(code).toBe(1);
  expect(err.trim().split("\n")).toEqual([
    `DATABASE_URL: Nothing listens at 127.0.0.1:${port}. Start PostgreSQL there, or correct the address.`,
    `REDIS_URL: Redis at 127.0.0.1:${port} can't be reached, or refuses the login. Start it, or correct the URL.`,
  ]);
  expect(out).not.toMatch(/Page|Ready/);
});

test("reports invalid URLs, and skips servers that are not set", async () => {
  await expect(checkServers({ DATABASE_URL: "localhost", REDIS_URL: "localhost" })).rejects.toThrow(
    /^DATABASE_URL is no address .*\nREDIS_URL is no address/,
  );
  await checkServers({ DATABASE_URL: "" });
});

test("the page starts in a language of the user", () => {
  expect(localeFor(["vi-VN", "en"])).toBe("vi");
  expect(localeFor(["de", "zh-SG", "en"])).toBe("zh-CN");
  expect(localeFor(["zh-HK", "en"])).toBe("zh-TW");
  expect(localeFor(["en-GB"])).toBe("en");
  expect(localeFor(["de-DE"])).toBe("en");
});

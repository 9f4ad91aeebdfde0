/** Tests the example with servers that can't be reached, and its choice of a language. Opens no page. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { expect, test } from "vitest";
import { localeFor } from "./shared/locales.ts";

test("stops with one line about an unreachable server, before it builds anything", async () => {
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
  expect(err.trim()).toBe(
    `Nothing listens at 127.0.0.1:${port}. Start PostgreSQL there, or correct the address. The address is in DATABASE_URL.`,
  );
  expect(out).not.toMatch(/Page|Ready/);
});

test("the page starts in a language of the user", () => {
  expect(localeFor(["vi-VN", "en"])).toBe("vi");
  expect(localeFor(["de", "zh-SG", "en"])).toBe("zh-CN");
  expect(localeFor(["zh-HK", "en"])).toBe("zh-TW");
  expect(localeFor(["en-GB"])).toBe("en");
  expect(localeFor(["de-DE"])).toBe("en");
});

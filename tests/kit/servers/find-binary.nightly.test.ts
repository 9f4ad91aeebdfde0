/** Tests that the error for a missing program names the package to install. */
import { afterEach, expect, test, vi } from "vitest";

import { findNginx, findPostgres, findRedis } from "./find-binary.ts";
import { startRedis } from "./start-redis.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("finds installed programs", () => {
  expect(findRedis()).toMatch(/redis-server$/);
  expect(findNginx()).toMatch(/nginx$/);
  expect(findPostgres()).toEqual({
    initdb: expect.stringMatching(/initdb$/),
    postgres: expect.stringMatching(/postgres$/),
  });
});

test("does not start without redis-server", async () => {
  vi.stubEnv("PATH", import.meta.dirname);
  const error = await startRedis().catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "ServiceError", code: "binary_missing" });
  expect(String(error)).toContain("redis-server is not installed: apt-get install redis-server");
});

test("does not start without PostgreSQL", () => {
  expect(() => findPostgres([import.meta.dirname])).toThrow(
    expect.objectContaining({
      code: "binary_missing",
      message: expect.stringContaining("initdb is not installed: apt-get install postgresql"),
    }),
  );
});

test("does not start without nginx", () => {
  expect(() => findNginx(import.meta.dirname)).toThrow(
    expect.objectContaining({
      code: "binary_missing",
      message: expect.stringContaining("nginx is not installed: apt-get install nginx"),
    }),
  );
});

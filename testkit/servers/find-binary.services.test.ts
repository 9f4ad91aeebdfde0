/** A missing program is named together with what to install; nothing goes on without it. */
import { afterEach, expect, test, vi } from "vitest";

import { findNginx, findPostgres, findRedis } from "./find-binary.ts";
import { startRedis } from "./start-redis.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("what is installed is found", () => {
  expect(findRedis()).toMatch(/redis-server$/);
  expect(findNginx()).toMatch(/nginx$/);
  expect(findPostgres()).toEqual({
    initdb: expect.stringMatching(/initdb$/),
    postgres: expect.stringMatching(/postgres$/),
  });
});

test("without redis-server nothing is started", async () => {
  vi.stubEnv("PATH", import.meta.dirname);
  const error = await startRedis().catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "ServiceError", code: "binary_missing" });
  expect(String(error)).toContain("redis-server is not installed: apt-get install redis-server");
});

test("without PostgreSQL neither", () => {
  expect(() => findPostgres([import.meta.dirname])).toThrow(
    expect.objectContaining({
      code: "binary_missing",
      message: expect.stringContaining("initdb is not installed: apt-get install postgresql"),
    }),
  );
});

test("without nginx neither", () => {
  expect(() => findNginx(import.meta.dirname)).toThrow(
    expect.objectContaining({
      code: "binary_missing",
      message: expect.stringContaining("nginx is not installed: apt-get install nginx"),
    }),
  );
});

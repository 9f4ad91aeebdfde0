/** What a person is told when something was refused: in their language, whatever the error itself says. */
import { ClientError, type ClientErrorCode } from "@turnstream/client";
import { ERRORS } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { problemText } from "../src/error-text.ts";
import { en } from "../src/strings/en/index.ts";
import { vi } from "../src/strings/vi/index.ts";
import { zhCn } from "../src/strings/zh-cn/index.ts";

const CODES = [...Object.keys(ERRORS), "OFFLINE", "UNSURE", "ABORTED"] as ClientErrorCode[];

test("U07 every code has words of its own in every language", () => {
  for (const strings of [en, vi, zhCn]) {
    const texts = CODES.map((code) => problemText(strings, new ClientError(code, "")));
    expect(new Set(texts).size).toBe(CODES.length);
    expect(texts.filter((text) => text === "" || text.includes("undefined"))).toEqual([]);
  }
});

/** In Vietnamese, of an error that says something in English. */
const said = (code: string) => problemText(vi, new ClientError(code as ClientErrorCode, "At most 20 MB."));

test("U07 an error's own words follow ours where they say more, and never stand alone", () => {
  expect(said("UNAUTHENTICATED")).toBe(vi.problems.byCode.UNAUTHENTICATED);
  expect(said("TOO_LARGE")).toBe(`${vi.problems.byCode.TOO_LARGE} (At most 20 MB.)`);
  // Of a newer server, or no error at all.
  expect(said("A_NEWER_WORD")).toBe("Chưa thực hiện được: At most 20 MB.");
  expect(said("constructor")).toBe("Chưa thực hiện được: At most 20 MB.");
  expect(problemText(vi, "?")).toBe("Chưa thực hiện được: ?");
});

/** What a person is told when something was refused: in their language, whatever the error itself says. */
import { ClientError, type ClientErrorCode } from "@turnstream/client";
import { ERRORS } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { errorText } from "../src/error-text.ts";
import { en } from "../src/strings/en/index.ts";
import { vi } from "../src/strings/vi/index.ts";
import { zhCn } from "../src/strings/zh-cn/index.ts";

const CODES = [...Object.keys(ERRORS), "OFFLINE", "UNSURE", "ABORTED"] as ClientErrorCode[];

test("U07 every code has words of its own in every language", () => {
  for (const strings of [en, vi, zhCn]) {
    const texts = CODES.map((code) => errorText(strings, new ClientError(code, "")));
    expect(new Set(texts).size).toBe(CODES.length);
    expect(texts.filter((text) => text === "" || text.includes("undefined"))).toEqual([]);
  }
});

/** In Vietnamese, of an error that says something in English. */
const text = (code: string) => errorText(vi, new ClientError(code as ClientErrorCode, "At most 20 MB."));

test("U07 an error's own words follow ours where they say more, and never stand alone", () => {
  expect(text("UNAUTHENTICATED")).toBe(vi.errors.byCode.UNAUTHENTICATED);
  expect(text("TOO_LARGE")).toBe(`${vi.errors.byCode.TOO_LARGE} (At most 20 MB.)`);
  // Of a newer server, or no error at all.
  expect(text("A_NEWER_WORD")).toBe("Chưa thực hiện được: At most 20 MB.");
  expect(text("constructor")).toBe("Chưa thực hiện được: At most 20 MB.");
  expect(errorText(vi, "?")).toBe("Chưa thực hiện được: ?");
});

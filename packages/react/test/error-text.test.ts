/** Tests `errorText`: users see an error in their language, although the error's own message is in English. */
import { ClientError, type ClientErrorCode } from "@turnstream/client";
import { ERRORS } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { errorText } from "../src/error-text.ts";
import { en } from "../src/strings/en.ts";
import { vi } from "../src/strings/vi.ts";
import { zhCn } from "../src/strings/zh-cn.ts";
import { zhTw } from "../src/strings/zh-tw.ts";

const CODES = [...Object.keys(ERRORS), "OFFLINE", "UNSURE", "ABORTED"] as ClientErrorCode[];

test("U07 every error code has its own text in every language", () => {
  for (const strings of [en, vi, zhCn, zhTw]) {
    const texts = CODES.map((code) => errorText(strings, new ClientError(code, "")));
    expect(new Set(texts).size).toBe(CODES.length);
    expect(texts.filter((text) => text === "" || text.includes("undefined"))).toEqual([]);
  }
});

/** Returns the Vietnamese text of an error with an English message. */
const text = (code: string) => errorText(vi, new ClientError(code as ClientErrorCode, "At most 20 MB."));

test("U07 an error's own message follows the translated text if it adds details, and is never shown alone", () => {
  expect(text("UNAUTHENTICATED")).toBe(vi.errors.byCode.UNAUTHENTICATED);
  expect(text("TOO_LARGE")).toBe(`${vi.errors.byCode.TOO_LARGE} (At most 20 MB.)`);
  // Codes of a newer server, a code that is the name of an inherited property, and a value that is not an error.
  expect(text("A_NEWER_WORD")).toBe("Chưa thực hiện được: At most 20 MB.");
  expect(text("constructor")).toBe("Chưa thực hiện được: At most 20 MB.");
  expect(errorText(vi, "?")).toBe("Chưa thực hiện được: ?");
});

const limited = (retryAfterSeconds: number) =>
  new ClientError("RATE_LIMITED", "no", { canRetry: true, retryAfterSeconds });

test("a limit of the day names the hours to wait, a limit of the minute does not", () => {
  expect(errorText(en, limited(7_000))).toBe("A limit was reached. Try again later. (2 h)");
  expect(errorText(en, limited(3_600))).toBe("A limit was reached. Try again later. (1 h)");
  expect(errorText(vi, limited(7_000))).toBe("Bạn đã dùng hết giới hạn. Hãy thử lại sau. (2 h)");
  expect(errorText(en, limited(60))).toBe("A limit was reached. Try again later.");
});

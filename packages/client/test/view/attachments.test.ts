/** Tests the files that will be sent with a message: `updateAttachments`, `canSend`, `checkFile` and `isAccepted`. */
import { describe, expect, test } from "vitest";
import {
  type Attachment,
  type AttachmentInput,
  updateAttachments,
  canSend,
  checkFile,
  isAccepted,
} from "../../src/view/attachments.ts";

const FILE = { url: "turnstream:blob/1", name: "a.pdf", size: 10 };

function after(inputs: readonly AttachmentInput[]): readonly Attachment[] {
  let list: readonly Attachment[] = [];
  for (const input of inputs) list = updateAttachments(list, input);
  return list;
}

const source = new Blob();
const ADDED: AttachmentInput = { type: "added", id: "1", name: "a.pdf", size: 10, source };

describe("attachments", () => {
  test("a message can't be sent until all files are uploaded and failed ones are removed", () => {
    expect(canSend("  ", [])).toBe(false);
    expect(canSend("hello", [])).toBe(true);
    expect(canSend("hello", after([ADDED]))).toBe(false);
    expect(canSend("", after([ADDED, { type: "done", id: "1", file: FILE }]))).toBe(true);
    const failed = after([ADDED, { type: "failed", id: "1", error: new Error("too large") }]);
    expect(canSend("hello", failed)).toBe(false);
    expect(canSend("hello", updateAttachments(failed, { type: "removed", id: "1" }))).toBe(true);
  });

  test("an input changes only its own attachment, and never adds a removed one again", () => {
    const two = after([ADDED, { type: "added", id: "2", name: "b.png", size: 5, source }]);
    const [one, other] = updateAttachments(two, { type: "progress", id: "2", sentBytes: 4 });
    expect([one?.sentBytes, other?.sentBytes]).toEqual([0, 4]);
    const left = updateAttachments(two, { type: "removed", id: "2" });
    expect(updateAttachments(left, { type: "done", id: "2", file: FILE })).toHaveLength(1);
    expect(updateAttachments(two, { type: "sent" })).toEqual([]);
  });

  test.each([
    ["*/*", true],
    ["", false],
    [".PDF", true],
    ["image/*", false],
    ["application/pdf, image/*", true],
    [".png,.jpg", false],
  ])("accept %j accepts a PDF: %s", (accept, isTaken) => {
    expect(isAccepted({ name: "report.pdf", type: "application/pdf" }, accept)).toBe(isTaken);
  });

  test("a file is refused by its type, its size, and the number of files, with the defaults of the worker", () => {
    const pdf = { name: "a.pdf", type: "application/pdf", size: 25_000_000 };
    expect(checkFile(pdf, 19, {})).toBe(null);
    expect(checkFile({ ...pdf, size: 25_000_001 }, 0, {})).toBe("size");
    expect(checkFile(pdf, 20, {})).toBe("count");
    expect(checkFile(pdf, 0, { accept: "image/*" })).toBe("type");
    expect(checkFile(pdf, 1, { maxFileBytes: 30_000_000, maxFiles: 1 })).toBe("count");
    expect(checkFile(pdf, 0, { maxFileBytes: 10 })).toBe("size");
  });
});

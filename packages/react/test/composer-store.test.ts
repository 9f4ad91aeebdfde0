/** Tests the shared message of the composer: its text, its uploads, and what it accepts. */
import type { Session } from "@turnstream/client";
import { createStaticSession } from "@turnstream/client/static";
import { expect, test, vi } from "vitest";
import { createComposerStore } from "../src/composer-store.ts";

interface Upload {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly finish: () => void;
}

/** A session whose uploads end when the test calls `finish`. */
function withUploads(): { readonly session: Session; readonly uploads: Upload[] } {
  const uploads: Upload[] = [];
  const session = createStaticSession([], {
    onCommand: async (name, args) => {
      if (name !== "uploadFile") return;
      const { name: file, signal } = args[1] as { readonly name: string; readonly signal: AbortSignal };
      return await new Promise((resolve, reject) => {
        const finish = (): void =>
          resolve({ url: `turnstream:blob/${file}`, name: file, media_type: "a/b", size: 1 });
        signal.addEventListener("abort", () => reject(new Error("aborted")));
        uploads.push({ name: file, signal, finish });
      });
    },
  });
  return { session, uploads };
}

const file = (name: string, type = "text/plain"): File => new File(["x"], name, { type });

test("every subscriber sees the text and the files", async () => {
  const { session, uploads } = withUploads();
  const store = createComposerStore();
  const seen = vi.fn<() => void>();
  store.subscribe(seen);
  store.set({ text: "Hello" });
  store.attach(session, [file("a.txt"), file("b.txt")]);
  expect(store.get().text).toBe("Hello");
  expect(store.get().files.map(({ status }) => status)).toEqual(["uploading", "uploading"]);
  uploads[0]?.finish();
  await expect.poll(() => store.get().files.map(({ status }) => status)).toEqual(["done", "uploading"]);
  expect(seen.mock.calls.length).toBeGreaterThanOrEqual(4);
});

test("files that the options don't accept are ignored", () => {
  const { session, uploads } = withUploads();
  const store = createComposerStore();
  store.options = { accept: "image/*" };
  store.attach(session, [file("a.txt"), file("b.png", "image/png")]);
  expect(uploads.map(({ name }) => name)).toEqual(["b.png"]);
});

test("removing a file or closing the store aborts uploads, and shows no failure", async () => {
  const { session, uploads } = withUploads();
  const store = createComposerStore();
  store.attach(session, [file("a.txt"), file("b.txt")]);
  store.removeFile(store.get().files[0]?.id ?? "");
  expect(uploads.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  store.close();
  expect(uploads.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  await Promise.resolve();
  expect(store.get().files.map(({ status }) => status)).toEqual(["uploading"]);
});

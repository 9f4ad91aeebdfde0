/** A program for tests: without `@turnstream/files`, it reads files of a message and of a knowledge base. Prints JSON. */
import { listBlocks } from "@turnstream/protocol";
import { createMemoryStore } from "@turnstream/testing";
import { readableText } from "../../../../knowledge/src/readable-text.ts";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { uploadFile } from "../../../src/session/blobs/upload.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { hideFilesPackage } from "../../text-extraction/hide-files-package.ts";
import { makePdf } from "../../text-extraction/make-pdf.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";

hideFilesPackage();

const CONTENT: Readonly<Record<string, Uint8Array>> = {
  "notes.md": Buffer.from("# Ghi chú\r\nmột"),
  "legacy.csv": Buffer.from([0xe9, 0x74, 0xe9]),
  "wide.txt": Buffer.from("\ufeffchữ", "utf16le"),
  "picture.png": Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
  "report.pdf": makePdf([["Revenue 42"]]),
  "page.html": Buffer.from("<!doctype html><p>Found.</p>"),
  "program.bin": new Uint8Array([1, 2, 3, 0, 5]),
};

const harness = await TurnHarness.open({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
});
let prompt = "";
const model = scriptedModel((at) => {
  prompt = JSON.stringify(at.prompt);
  return [script.text("Read.")];
});
await harness.worker([defineAgent({ name: "reader", title: false, model })]);
const ref = await harness.session();
const { user: userId } = harness.actor;
const files: { url: string }[] = [];
for (const [name, bytes] of Object.entries(CONTENT)) {
  const body = (async function* () {
    yield bytes;
  })();
  files.push(await uploadFile(harness.backend, ref, { id: name, name, userId, body }));
}
await sendMessage(harness.backend, ref, {
  id: "m",
  text: "Read",
  userId,
  files: files.map(({ url }) => ({ url })),
});
const turn = await harness.ended(ref, ({ message }) => message?.id === "m");
const block = listBlocks(turn).find(({ kind }) => kind === "files");
const readKnowledge = (name: string, text: string): Promise<string> =>
  readableText(text, name).then(
    (read) => read.text,
    (error: unknown) => String(error),
  );
process.stdout.write(
  JSON.stringify({
    status: turn.status,
    files: block?.kind === "files" ? block.files.map(({ status }) => status) : [],
    prompt,
    errors: harness.errors.map(({ error }) => String(error)),
    knowledge: [await readKnowledge("a.md", "# A"), await readKnowledge("a.html", "<p>A")],
  }),
);
await harness.close();

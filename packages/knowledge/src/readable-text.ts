/**
 * `readableText` converts a file to the text and title that a knowledge base stores.
 * Invariant: the media type or the file extension selects the format; unknown types are refused. So are bytes that are
 * not UTF-8 or UTF-16 text. The title is one line of at most 300 characters; without one, it is the file name. JSON
 * has one value per line, because search returns lines. Time is linear in the size of the text, and no step blocks the
 * process for long. Error messages are for users.
 */
import { truncateText } from "@turnstream/protocol/writer";
import {
  createTimeSlicer,
  ExtractError,
  findJsonExcess,
  importFilesPackage,
  type JsonExcess,
  MAX_NUMBER_CHARS,
  yieldToEventLoop,
} from "@turnstream/server/internal";

export interface ReadableText {
  readonly title: string;
  readonly text: string;
}

const BY_ENDING: Readonly<Record<string, string>> = {
  md: "text/markdown",
  markdown: "text/markdown",
  txt: "text/plain",
  html: "text/html",
  htm: "text/html",
  csv: "text/csv",
  json: "application/json",
};
const MAX_TITLE = 300;
/** A heading is read only this far. */
const MAX_HEADING = 2_000;
const JSON_BOUNDS = { maxDepth: 64, maxValues: 50_000 };
const EXCESSES: Readonly<Record<JsonExcess, string>> = {
  depth: `The content is nested more than ${JSON_BOUNDS.maxDepth} levels deep.`,
  values: `The content has more than ${JSON_BOUNDS.maxValues} values. Split it into several objects.`,
  number: `A number has more than ${MAX_NUMBER_CHARS} characters.`,
};

/** All pages of the process share it, so that several of them block the event loop no longer than one. */
const slices = createTimeSlicer();

/**
 * @param name a path or file name. Its last part is the title if the text has none.
 * @throws Error with a message for users
 */
export async function readableText(
  body: string | Uint8Array,
  name: string,
  mediaType?: string,
): Promise<ReadableText> {
  const type = mediaType ?? BY_ENDING[/[.]([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? ""];
  if (type === undefined || !Object.values(BY_ENDING).includes(type))
    throw new Error(`${type ?? "The type"} is not supported. Expected text, Markdown, HTML, CSV or JSON.`);
  const text = typeof body === "string" ? body : decode(body);
  const { title, text: read } = await readAs(type, text);
  return { title: titleOf(title, name), text: read };
}

/** Decodes UTF-16 if the bytes start with its byte order mark, otherwise UTF-8. */
function decode(bytes: Uint8Array): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const encoding = isUtf16 ? (bytes[0] === 0xff ? "utf-16le" : "utf-16be") : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Error("The content is not text in UTF-8 or UTF-16.");
  }
}

async function readAs(type: string, text: string): Promise<ReadableText> {
  switch (type) {
    case "text/html":
      return readPage(text);
    case "text/markdown":
      return { title: firstHeading(text), text };
    case "application/json":
      return { title: "", text: await laidOut(text) };
    default:
      return { title: "", text };
  }
}

async function readPage(html: string): Promise<ReadableText> {
  const files = await importFilesPackage();
  if (files === null) throw new ExtractError("NO_PACKAGE");
  return files.readHtml(html, { run: slices.run });
}

/** Two steps, because a pattern for the whole heading would need quadratic time for a long line of spaces. */
function firstHeading(markdown: string): string {
  const start = /^#{1,3}[ \t]+(?=[^\s#])/m.exec(markdown);
  if (start === null) return "";
  const from = start.index + start[0].length;
  const [line = ""] = markdown.slice(from, from + MAX_HEADING).split(/[\r\n\u2028\u2029]/, 1);
  return line.trimEnd().replace(/#{1,6}$/, "");
}

/** Puts one value on each line, so that search can find and return single lines. */
async function laidOut(json: string): Promise<string> {
  const excess = findJsonExcess(Buffer.from(json), JSON_BOUNDS);
  if (excess !== null) throw new Error(EXCESSES[excess]);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error("The content is not valid JSON.");
  }
  await yieldToEventLoop();
  return JSON.stringify(value, null, 1);
}

function titleOf(title: string, name: string): string {
  const clean = title.replaceAll("\0", "").replace(/\s+/g, " ").trim();
  return truncateText(clean === "" ? (name.split("/").at(-1) ?? name) : clean, MAX_TITLE);
}

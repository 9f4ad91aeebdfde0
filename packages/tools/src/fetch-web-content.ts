/**
 * `fetchWebContentTool` creates the tool `fetch_web_content`: it returns the readable text of a public web page, text
 * file or PDF in citable chunks.
 *
 * Invariant: requests use `safeFetch`, which refuses internal addresses, and `mayFetch` decides on every redirect. By
 * default the URL must occur in the conversation, and a refusal does not repeat it. Text is extracted in a separate
 * thread, within the worker's file limits.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import {
  extract,
  ExtractError,
  safeFetch,
  type SafeResponse,
  EXTRACT_MEMORY_MB,
  hostOf,
  toCitations,
} from "@turnstream/server/internal";
import {
  type FetchPolicy,
  type Tool,
  tool,
  type ToolContext,
  ToolError,
  type ToolOutput,
} from "@turnstream/server";
import { charsetOf, describeFetchError, isTextResponse, resolveFetchPolicy } from "./fetch-helpers.ts";
import { isSeenUrl, listConversation } from "./seen-url.ts";

export interface FetchWebContentOptions {
  /** How many characters of a page one call returns. The model gets the offset for the next call. @default 20000 */
  readonly chars?: number;
  /**
   * Also fetches URLs that occur nowhere in the conversation. The model can put data of the conversation into such a
   * URL, so a text that manipulates the model can send that data to any server.
   * @default false
   */
  readonly allowAnyUrl?: boolean;
  /** Returns false to refuse a URL. It is also called for every redirect. */
  readonly mayFetch?: (url: URL) => boolean;
}

const CHARS = 20_000;
const LIMITS = { maxBytes: 5_000_000, timeoutMs: 30_000 };

/** Does not contain the URL: a tool result that repeats it must not make it known. */
const UNSEEN =
  "Only addresses that occur in the conversation may be read: in messages of the user, files or tool results. Ask the user for the address.";

const input = z.object({
  url: z.string().max(8_000),
  offset: z
    .int()
    .nonnegative()
    .optional()
    .describe("The character to continue from, as given by an earlier result."),
});

/** Servers that don't know the type of a file send one of the last two, so the extractor detects the type. */
const READ_ALL_THE_SAME = new Set(["application/pdf", "application/octet-stream", ""]);

export function fetchWebContentTool(options: FetchWebContentOptions, fetch: FetchPolicy | undefined): Tool {
  const { chars = CHARS, mayFetch = () => true, allowAnyUrl = false } = options;
  const mayFollow = (url: string): boolean => URL.canParse(url) && mayFetch(new URL(url));
  return tool({
    description: "Reads a web page, text file or PDF by its address and gives its text.",
    label: "Reading a web page",
    input,
    idempotent: true,
    async run({ url, offset = 0 }, context) {
      if (!allowAnyUrl && !isSeenUrl(url, listConversation(hostOf(context).scope)))
        throw new ToolError("This address may not be read.", { modelMessage: UNSEEN });
      if (URL.canParse(url) && !mayFollow(url))
        throw new ToolError("This address may not be read.", { modelMessage: `${url} may not be read.` });
      const policy = resolveFetchPolicy(fetch, context, LIMITS);
      try {
        const answer = await safeFetch(url, { policy, signal: context.signal, mayFollow });
        const page = await read(answer, context);
        return outputOf(answer.url, page, { offset, chars });
      } catch (error) {
        if (error instanceof ExtractError)
          throw new ToolError("The page could not be read.", { modelMessage: error.message, cause: error });
        throw describeFetchError(error, "The page could not be read.");
      }
    },
  });
}

interface Page {
  readonly title: string;
  readonly text: string;
  readonly isCut: boolean;
}

async function read(answer: SafeResponse, context: ToolContext): Promise<Page> {
  const { status, mediaType, url } = answer;
  if (status >= 400) {
    answer.cancel();
    throw new ToolError(`The page answered with ${status}.`);
  }
  if (!isTextResponse(mediaType) && !READ_ALL_THE_SAME.has(mediaType)) {
    answer.cancel();
    throw noText(url, mediaType);
  }
  const name = new URL(url).pathname.split("/").at(-1) ?? "";
  const charset = charsetOf(answer.headers["content-type"] ?? "");
  const bytes = await answer.bytes();
  const { signal } = context;
  const { attempt, host } = hostOf(context).scope;
  const { fileLimits, fileSlots } = host;
  const limits = {
    maxChars: fileLimits.maxChars,
    timeoutMs: fileLimits.extractTimeoutMs,
    memoryMb: EXTRACT_MEMORY_MB,
  };
  const file = { name, mediaType, charset, bytes };
  const got = await fileSlots.run(attempt.row, signal, () => extract(file, limits, signal));
  if (got.kind === "image" || got.kind === "other") throw noText(url, got.mediaType);
  return { title: got.title, text: got.pieces.join(""), isCut: got.isCut };
}

function noText(url: string, mediaType: string): ToolError {
  return new ToolError("This is not text.", {
    modelMessage: `${url} is ${mediaType}, which can't be read as text.`,
  });
}

function outputOf(
  url: string,
  { title, text, isCut }: Page,
  { offset, chars }: { readonly offset: number; readonly chars: number },
): ToolOutput {
  const piece = truncateText(text.slice(offset), chars);
  if (piece === "")
    throw new ToolError("There is no text on this page.", { modelMessage: `There is no text at ${offset}.` });
  const next = offset + piece.length;
  const end = isCut ? "The page continues, but no more of it can be read here." : "This is the end of it.";
  const rest =
    next < text.length ? `${text.length - next} more characters: continue with offset ${next}.` : end;
  const { host } = new URL(url);
  const name = title === "" ? host : truncateText(title, 300);
  const preview = isCut ? `${name} (only the start)` : name;
  return { ...toCitations([{ content: piece, title: name, url, shown: name }], rest), preview };
}

/**
 * The tool `fetch_web_content`: the readable text of an address on the public internet, in pieces, to be cited. Never
 * reaches what is inside: see outside/safe-fetch.ts.
 */
import { cutText } from "@turnstream/protocol";
import { z } from "zod";
import type { FetchPolicy } from "../../outside/policy.ts";
import { safeFetch } from "../../outside/safe-fetch.ts";
import { htmlText } from "../../text/html-text.ts";
import { type Tool, tool, ToolError, type ToolOutput } from "../define/tool.ts";
import { cited } from "./cited.ts";
import { describeFetchError, isText, textFrom } from "./fetched.ts";

export interface FetchWebContentOptions {
  /** How much of a page is given at a time, in characters; 20,000 when absent. */
  readonly chars?: number;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  /** Refuses addresses, where it depends on the address. Asked for redirects as well. */
  readonly mayFetch?: (url: URL) => boolean;
}

const CHARS = 20_000;
const MAX_BYTES = 5_000_000;
const TIMEOUT_MS = 30_000;

const input = z.object({
  url: z.string().max(8_000),
  offset: z
    .int()
    .nonnegative()
    .optional()
    .describe("The character to go on from, as an earlier result said."),
});

export function fetchWebContentTool(options: FetchWebContentOptions, fetch: FetchPolicy): Tool {
  const { chars = CHARS, maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, mayFetch = () => true } = options;
  const policy = { ...fetch, maxBytes, timeoutMs };
  const mayFollow = (url: string): boolean => URL.canParse(url) && mayFetch(new URL(url));
  return tool({
    description: "Reads a web page or text file by its address and gives its text.",
    label: "Reading a web page",
    input,
    rerun: "always",
    async run({ url, offset = 0 }, { signal }) {
      if (URL.canParse(url) && !mayFollow(url))
        throw new ToolError("This address may not be read.", `${url} may not be read.`);
      try {
        const answer = await safeFetch(url, { policy, signal, mayFollow });
        if (answer.status >= 400) {
          answer.cancel();
          throw new ToolError(`The page answered with ${answer.status}.`);
        }
        if (!isText(answer.mediaType)) {
          answer.cancel();
          const type = answer.mediaType === "" ? "something without a type" : answer.mediaType;
          throw new ToolError("This is no text.", `${url} is ${type}, which can't be read as text.`);
        }
        const text = textFrom(await answer.bytes(), answer.headers["content-type"] ?? "");
        return await outputOf(answer.url, answer.mediaType, text, { offset, chars });
      } catch (error) {
        throw describeFetchError(error, "The page could not be read.");
      }
    },
  });
}

async function outputOf(
  url: string,
  mediaType: string,
  body: string,
  { offset, chars }: { readonly offset: number; readonly chars: number },
): Promise<ToolOutput> {
  const isHtml = mediaType === "text/html" || mediaType === "application/xhtml+xml";
  const { title, text } = isHtml ? await htmlText(body) : { title: "", text: body };
  const piece = cutText(text.slice(offset), chars);
  if (piece === "") throw new ToolError("There is no text on this page.", `There is no text at ${offset}.`);
  const next = offset + piece.length;
  const rest =
    next < text.length
      ? `${text.length - next} more characters: go on with offset ${next}.`
      : "This is the end of it.";
  const { host } = new URL(url);
  const name = title === "" ? host : cutText(title, 300);
  return { ...cited([{ content: piece, title: name, url, shown: name }], rest), preview: name };
}

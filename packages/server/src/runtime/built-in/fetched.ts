/** What the tools that fetch have in common: which answers are text, how to read them, and how to say what failed. */
import { isFetchError } from "../../outside/errors.ts";
import { ToolError } from "../define/tool.ts";

const TEXT =
  /^(text\/.*|application\/(.*[+])?(json|xml|javascript|yaml|x-ndjson)|application\/x-www-form-urlencoded)$/;

export function isText(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/** In the encoding that the server names, or UTF-8. Whatever can't be read becomes a mark that says so. */
export function textFrom(bytes: Uint8Array, contentType: string): string {
  const named = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(named).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** The model reads why; people read that it failed. */
export function describeFetchError(error: unknown, forPeople: string): unknown {
  return isFetchError(error)
    ? new ToolError(forPeople, `${error.code}: ${error.message}`, { cause: error })
    : error;
}

/**
 * `dehydrateSession` returns the state of a session as text, for a page that is rendered on a server. The browser passes
 * it to `client.session(id, { snapshot })`.
 * Invariant: the text is JSON without `<`, `>`, `&` and line separators, so it can't end a script element. It contains
 * the newest turn and its position, so the connection of the browser continues in the middle of a word. It has at most
 * `maxChars` characters; if the newest turn alone is larger, the result is null.
 */
import { snapshot } from "@turnstream/protocol";
import type { Session } from "./session.ts";

export interface DehydrateOptions {
  /** The longest text. Older turns are left out first; the page loads them when the user scrolls up. @default 500,000 */
  readonly maxChars?: number;
}

/**
 * Call `await session.refresh()` before, which reads the session with one request.
 * @returns null if the session has no state, or if its newest turn is too large. The browser then loads the session.
 */
export function dehydrateSession(
  session: Session,
  { maxChars = 500_000 }: DehydrateOptions = {},
): string | null {
  const { state } = session.getSnapshot();
  if (state.seq === 0) return null;
  for (let turns = Math.max(1, state.turns.length); turns >= 1; turns = Math.floor(turns / 2)) {
    const text = escapeForHtml(JSON.stringify(snapshot(state, turns)));
    if (text.length <= maxChars) return text;
  }
  return null;
}

/** The escapes mean the same in JSON and in JavaScript. Outside of strings, JSON has none of these characters. */
function escapeForHtml(json: string): string {
  return json.replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

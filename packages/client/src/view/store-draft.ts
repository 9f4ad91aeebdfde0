/**
 * `storeDraft` keeps the text of a composer across reloads, in the storage of its session.
 * Invariant: a stored text never replaces what the user has written meanwhile. If the session is created while the user
 * writes, the text moves to the created one.
 */
import type { Session } from "../session/session.ts";
import type { ComposerStore } from "./composer-store.ts";

type DraftSession = Pick<Session, "loadDraft" | "saveDraft">;

/** The session that stores the text of each composer. */
const sessions = new WeakMap<ComposerStore, DraftSession>();

/** Fills an empty composer with the stored text, and stores every change of it. Returns a function that ends it. */
export function storeDraft(composer: ComposerStore, session: DraftSession): () => void {
  let stored = composer.get().text;
  const before = sessions.get(composer);
  if (before !== undefined && before !== session && stored !== "") {
    before.saveDraft("");
    session.saveDraft(stored);
  }
  sessions.set(composer, session);
  const fill = (text: string): void => {
    const isUnchanged = stored === "" && composer.get().text === "";
    if (isUnchanged && text !== "" && sessions.get(composer) === session)
      composer.set({ text: (stored = text) });
  };
  // Without the code that reads it, there is no draft.
  session.loadDraft().then(fill, () => {});
  return composer.subscribe(() => {
    const { text } = composer.get();
    if (text !== stored) session.saveDraft((stored = text));
  });
}

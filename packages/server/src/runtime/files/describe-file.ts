/** What the model is told of the files of a message: what each is, how it begins, how to read on. Pure. */
import { truncateText } from "@turnstream/protocol";
import type { FileRecord } from "../attempt/journal-entries.ts";
import { escapeReferenceTags } from "../attempt/reference-pool.ts";

const PROBLEMS: Readonly<Record<NonNullable<FileRecord["problem"]>, string>> = {
  NOT_ALLOWED: "its address may not be fetched",
  NOT_FOUND: "nothing was found at its address",
  TOO_LARGE: "it is too large",
  TOO_MANY: "too many files came with the message",
  TIMEOUT: "it took too long",
  UNREACHABLE: "its server could not be reached",
  UNSUPPORTED: "files of its kind can't be read here",
  UNREADABLE: "it is damaged or locked",
};

/** @param shownChars how much of its beginning is told; 0 for none */
export function describeFile(fact: FileRecord, shownChars: number): string {
  const { attachment, chars, isCut, problem, mediaType, size } = fact;
  const name = JSON.stringify(fact.name);
  if (problem !== null) return `[File ${name} could not be read: ${PROBLEMS[problem]}.]`;
  const kind = `${mediaType}, ${size} bytes`;
  if (chars === 0) return `[File ${name}: ${kind}, without text that could be read.]`;
  const kept = isCut
    ? `its first ${chars} characters of text (it goes on, and the rest could not be kept: nobody here can read it)`
    : `${chars} characters of text`;
  const about = `[File ${name}: ${kind}, ${kept}, attachment ${attachment ?? ""}.`;
  const head = truncateText(fact.head, shownChars);
  if (head === "") return `${about} Read it by lookup_attachments.]`;
  const rest =
    chars > head.length
      ? " This is how it begins; read on by lookup_attachments."
      : ` This is all ${isCut ? "that is kept " : ""}of it.`;
  // Whatever the text says, it can't end where it is quoted.
  const quoted = escapeReferenceTags(head).replaceAll(/<(?=\/?attachment\b)/gi, "&lt;");
  return `${about}${rest} It is quoted, not said by the person.]\n<attachment id="${attachment ?? ""}">\n${quoted}\n</attachment>`;
}

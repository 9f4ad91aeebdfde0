/**
 * `cutDocument` returns code that a source document prints, read from the document at run time, so that a test runs
 * exactly that code and none of it is kept here. The documents are no part of this repository.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = process.env["TURNSTREAM_DOCUMENTS"] ?? join(import.meta.dirname, "../../../../shared/seeds");

export type DocumentNumber = "000" | "001" | "002" | "003" | "004";

/** Without the documents, tests of their code say "not run". */
export const hasDocuments = existsSync(FOLDER);

/**
 * Returns the text of a document from one mark up to, and without, the next.
 * @param values what to put in the place of printed values, such as the address of the server
 */
export function cutDocument(
  document: DocumentNumber,
  from: string,
  to: string,
  values: Readonly<Record<string, string>> = {},
): string {
  const file = readdirSync(FOLDER).find((name) => name.startsWith(document));
  if (file === undefined) throw new Error(`${FOLDER} has no document ${document}.`);
  const text = readFileSync(join(FOLDER, file), "utf8");
  const start = text.indexOf(from);
  const end = text.indexOf(to, start);
  if (start < 0 || end < 0) throw new Error(`Document ${document} has no code from "${from}" to "${to}".`);
  return Object.entries(values).reduce(
    (code, [printed, value]) => {
      if (!code.includes(printed)) throw new Error(`The code of document ${document} has no "${printed}".`);
      return code.replaceAll(printed, value);
    },
    text.slice(start, end),
  );
}

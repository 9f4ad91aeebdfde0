/**
 * `MAX_PREVIEW`, `MAX_LABEL` and `ARGUMENT_LIMITS` limit texts and lists in events. Constants only.
 * Invariant: the schemas reject longer ones, so writers and decoders truncate to these limits. The published JSON
 * Schemas contain the values; regenerate them after a change.
 */

/** Maximum length of the preview of a tool result, in UTF-16 code units. The full result is stored elsewhere. */
export const MAX_PREVIEW = 4096;

/** Maximum length of a one-line text such as a label, title or hint, in UTF-16 code units. */
export const MAX_LABEL = 500;

/** Limits of the description of an approval's arguments. `unitChars` is in UTF-16 code units. */
export const ARGUMENT_LIMITS = { fields: 30, options: 50, unitChars: 20 } as const;

/**
 * `MAX_PREVIEW` and `MAX_LABEL` limit texts in events. Constants only.
 * Invariant: the schemas reject longer texts, so writers and decoders truncate to these limits. The published JSON
 * Schemas contain both values; regenerate them after a change.
 */

/** Maximum length of the preview of a tool result, in UTF-16 code units. The full result is stored elsewhere. */
export const MAX_PREVIEW = 4096;

/** Maximum length of a one-line text such as a label, title or hint, in UTF-16 code units. */
export const MAX_LABEL = 500;

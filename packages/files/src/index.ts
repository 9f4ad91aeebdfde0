/**
 * `@turnstream/files` reads PDF and HTML for `@turnstream/server`, which finds it if it is installed.
 * Invariant: each function loads its library when it is called, because every file is read in a new thread.
 */
export { detectMediaType } from "./detect-media-type.ts";
export { type HtmlOptions, type HtmlText, readHtml } from "./read-html.ts";
export { type PdfText, readPdf } from "./read-pdf.ts";

/** Threads import this URL, because they run without the conditions under which their process found the package. */
export const moduleUrl: string = import.meta.url;

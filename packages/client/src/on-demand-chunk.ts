/**
 * The chunk with what a page needs only after its first render: the calls of a client, uploads and drafts.
 * Invariant: only load-on-demand.ts imports it, and only dynamically.
 */
export { createClientApi } from "./client-api.ts";
export { uploadFile } from "./http/upload-file.ts";
export { readDraft, writeDraft } from "./session/draft.ts";
export { NO_AUTH } from "./sharing-client.ts";

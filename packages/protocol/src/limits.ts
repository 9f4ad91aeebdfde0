/** Bounds that both the schemas and the code keep. */

/** How long the preview of a tool's result may be, in UTF-16 units; the whole is elsewhere. */
export const MAX_PREVIEW = 4096;

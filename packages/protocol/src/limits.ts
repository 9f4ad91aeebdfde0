/** Bounds that both the schemas and the code keep. */

/** How long the preview of a tool's result may be, in UTF-16 units; the whole is elsewhere. */
export const MAX_PREVIEW = 4096;

/** How long what people read in one line may be: a label, a title, a hint. In UTF-16 units. */
export const MAX_LABEL = 500;

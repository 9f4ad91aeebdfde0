/**
 * Frames of `blocks` as the source documents print them, without our additions, for tests of the decoder.
 */
export const start = {
  type: "message_start",
  session_id: "ses-9",
  timestamp: 1_710_000_000.0,
  display_mode: "agent",
  message_id: "msg-1",
};
export const block = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
export const delta = (index: number, inner: object) => ({ type: "content_block_delta", index, delta: inner });
export const stop = (index: number, more: object = {}) => ({ type: "content_block_stop", index, ...more });

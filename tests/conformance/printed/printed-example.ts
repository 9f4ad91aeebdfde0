/**
 * `PrintedExample` is one example of a source document: the shapes that the document prints, with our own values.
 * Invariant: an example has every field that the document prints and none of ours, so a decoder that needs a field of
 * ours fails on it.
 */
import type { Block } from "@turnstream/protocol";

export interface PrintedExample {
  /** The lines of the document. */
  readonly lines: string;
  readonly about: string;
  readonly frames: readonly object[];
  /** Fields of the blocks that the frames become, in order. */
  readonly shows: readonly (Pick<Block, "kind"> & Readonly<Record<string, unknown>>)[];
}

export const blockStart = (index: number, content_block: object, more: object = {}): object => ({
  type: "content_block_start",
  index,
  content_block,
  ...more,
});

export const blockDelta = (index: number, delta: object, more: object = {}): object => ({
  type: "content_block_delta",
  index,
  delta,
  ...more,
});

export const blockStop = (index: number, more: object = {}): object => ({
  type: "content_block_stop",
  index,
  ...more,
});

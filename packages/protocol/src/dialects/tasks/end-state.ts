/**
 * `taskEndState` returns the whole end state of a task (requirement T01): the visible items, and in `content` the texts
 * and images that the model was given.
 * Invariant: only the owner of the session may receive it; it is never part of a stream. Pure.
 */
import { findRun } from "../../fold/edit.ts";
import { type Block, listBlocks, isVisible, type Run, type Turn } from "../../state.ts";
import { findSubAgentRun } from "../../turn-queries.ts";
import type { TaskBlock, TaskItem, TaskItemOf } from "./frames.ts";
import { isOutputBlock, type OutputBlock, taskIdOf, wholeItem } from "./items.ts";

/** A piece of what the model was given: a text or an image. `id` is the reference that the piece belongs to. */
export type TaskContent =
  | {
      readonly type: "text";
      readonly text: string;
      readonly id?: number;
      readonly tags?: readonly string[];
    }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string }; readonly id?: number };

interface WithContent {
  readonly content?: readonly TaskContent[];
}

/** The result of a call that started a sub-agent contains the items of that sub-agent. */
interface EndResult extends Omit<TaskItemOf<"tool_result">, "block_list">, WithContent {
  readonly block_list?: readonly (TaskBlock | EndItem)[];
}

type EndItem = (Exclude<TaskItem, { readonly type: "tool_result" }> & WithContent) | EndResult;

export interface TaskEndState {
  readonly task_id: string;
  readonly output: readonly EndItem[];
}

/** @param contentOf returns what the model was given of the result of a call, or null if it is not stored */
export function taskEndState(
  turn: Turn,
  run: Run,
  contentOf: (call: string) => readonly TaskContent[] | null,
): TaskEndState {
  const output = ownBlocks(turn, run).map((block): EndItem => {
    const content = contentFor(block, contentOf);
    return { ...itemOf(turn, block), ...(content === null ? {} : { content }) };
  });
  return { task_id: taskIdOf(turn, run), output };
}

function ownBlocks(turn: Turn, run: Run): OutputBlock[] {
  return listBlocks(turn).filter(
    (block): block is OutputBlock => block.run === run.id && isOutputBlock(block) && isVisible(turn, block),
  );
}

function contentFor(
  block: Block,
  contentOf: (call: string) => readonly TaskContent[] | null,
): readonly TaskContent[] | null {
  if (block.kind === "tool_result") return contentOf(block.call);
  return block.kind === "text" && block.text !== "" ? [{ type: "text", text: block.text }] : null;
}

function itemOf(turn: Turn, block: OutputBlock): EndItem {
  const item = wholeItem(turn, block);
  if (item.type !== "tool_result") return item;
  const sub = findSubAgentRun(turn, item.call_id);
  const run = sub === undefined ? undefined : findRun(turn, sub.id);
  if (run === undefined) return item;
  return { ...item, block_list: ownBlocks(turn, run).map((inner) => itemOf(turn, inner)) };
}

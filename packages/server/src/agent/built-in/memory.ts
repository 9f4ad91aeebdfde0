/**
 * `memoryTool` creates the tool `memory`: it stores, lists, searches and deletes what an agent remembers about a user
 * across sessions.
 *
 * Invariant: it only reaches the memories of the session's owner. The log shows that something was remembered or found
 * but not the content, because the session may be shared later. Saving is idempotent: the id comes from the idempotency
 * key.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { MAX_MEMORIES, MAX_MEMORY_CHARS, type Memory } from "../../store/memories.ts";
import type { Actor } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { type Tool, tool, type ToolContext, ToolError, type ToolOutput } from "../define/tool.ts";
import { hostOf } from "../tool-calls/run-tool.ts";
import { rankByTerms } from "./search.ts";

const MOST_FOUND = 20;
const MOST_LISTED = 100;

const input = z.object({
  action: z.enum(["save", "list", "search", "forget"]),
  text: z.string().max(MAX_MEMORY_CHARS).optional().describe("save: one record, in a full sentence."),
  query: z.string().max(1_000).optional().describe("search: terms to search for."),
  id: z.string().max(256).optional().describe("forget: the id of the memory."),
});

type Input = z.infer<typeof input>;

export interface MemoryOptions {
  /**
   * Asks the user to approve each memory before it is saved. A saved memory is part of the instructions of all later
   * sessions with `recallMemories`.
   * @default false
   */
  readonly asksBeforeSaving?: boolean;
}

export function memoryTool({ asksBeforeSaving = false }: MemoryOptions = {}): Tool {
  return tool({
    description:
      "Remembers records about the user across all conversations with them: saves one, lists or searches them, or forgets one. Save what will matter again, such as preferences and circumstances, and what the user asks you to remember. Never save secrets such as passwords.",
    label: ({ action }) => LABELS[action] ?? "Memory",
    input,
    // The id comes from the idempotency key of the call, so saving again changes nothing.
    idempotent: true,
    approval: asksBeforeSaving ? ({ action }) => action === "save" : false,
    run: (request, context) => {
      const { store } = hostOf(context).scope.attempt.context;
      return work(store, { tenant: context.tenant, user: context.user }, request, context);
    },
  });
}

const LABELS: Readonly<Record<string, string>> = {
  save: "Remembering",
  list: "Recalling",
  search: "Recalling",
  forget: "Forgetting",
};

async function work(store: Store, actor: Actor, request: Input, context: ToolContext): Promise<ToolOutput> {
  switch (request.action) {
    case "save":
      return save(store, actor, request.text ?? "", context);
    case "list": {
      const all = await store.memories.list(actor);
      return listOutput(all.slice(0, MOST_LISTED), all.length);
    }
    case "search": {
      const found = rankByTerms(await store.memories.list(actor), request.query ?? "");
      return listOutput(found.slice(0, MOST_FOUND), found.length);
    }
    case "forget": {
      const isRemoved = request.id !== undefined && (await store.memories.remove(actor, request.id));
      return isRemoved
        ? textOutput("Forgotten.", "Forgotten.")
        : textOutput("There is no memory with this id.", "");
    }
  }
}

async function save(store: Store, actor: Actor, text: string, { idempotencyKey }: ToolContext) {
  if (text.trim() === "") throw new ToolError("Nothing to remember.", { modelMessage: "`text` is missing." });
  const id = `m${createHash("sha256").update(idempotencyKey).digest("hex").slice(0, 12)}`;
  const outcome = await store.memories.save(actor, { id, text });
  if (outcome === "full")
    throw new ToolError("The memory is full.", {
      modelMessage: `There are ${MAX_MEMORIES} memories already. Forget some that matter less, then save again.`,
    });
  return textOutput(`Saved with the id ${id}.`, "Remembered.");
}

function listOutput(memories: readonly Memory[], total: number): ToolOutput {
  const content = { memories: memories.map(({ id, text, pinned }) => ({ id, text, pinned })), total };
  return { content, blocks: [{ type: "text", text: describeCount(total) }], resultCount: total };
}

function describeCount(count: number): string {
  return count === 1 ? "1 memory" : `${count} memories`;
}

function textOutput(content: string, userMessage: string): ToolOutput {
  return {
    content,
    blocks: userMessage === "" ? [] : [{ type: "text", text: userMessage }],
    preview: userMessage,
  };
}

/** `memoryRoutes` let users list, edit and erase what agents remember about them. */
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { editMemory, eraseMemories, eraseMemory, listMemories } from "../../../session/memories.ts";
import type { Memory } from "../../../store/ports/knowledge.ts";
import { RequestError } from "../../errors.ts";
import { type Route, defineRoute } from "../route.ts";

const list = defineRoute({
  method: "GET",
  path: "/memories",
  summary: "What is remembered of the caller: pinned ones first, then the last changed first.",
  scope: "read",
  responseSchema: restReplies.memories,
  handle: async ({ context, caller }) => ({
    status: 200,
    json: { memories: (await listMemories(context, caller)).map(toMemoryJson) },
  }),
});

const edit = defineRoute({
  method: "PATCH",
  path: "/memories/{memory}",
  summary: "Changes one, or pins it.",
  scope: "write",
  body: restBodies.edit_memory,
  responseSchema: restReplies.memory,
  handle: async ({ context, caller, params, body }) => ({
    status: 200,
    json: { memory: toMemoryJson(await editMemory(context, caller, params["memory"] ?? "", body)) },
  }),
});

const erase = defineRoute({
  method: "DELETE",
  path: "/memories/{memory}",
  summary: "Forgets one.",
  scope: "write",
  async handle({ context, caller, params }) {
    if (!(await eraseMemory(context, caller, params["memory"] ?? "")))
      throw new RequestError("NOT_FOUND", "This is not remembered, or not of you.");
    return { status: 204 };
  },
});

const eraseAll = defineRoute({
  method: "DELETE",
  path: "/memories",
  summary: "Forgets everything that is remembered of the caller.",
  scope: "write",
  responseSchema: restReplies.removed,
  handle: async ({ context, caller }) => ({
    status: 200,
    json: { removed: await eraseMemories(context, caller) },
  }),
});

function toMemoryJson({ id, text, pinned, createdAt, updatedAt }: Memory) {
  return { id, text, pinned, created_at: createdAt, updated_at: updatedAt };
}

export const memoryRoutes: readonly Route[] = [list, edit, erase, eraseAll];

/**
 * `memoryRoutes` let users list, edit and erase what agents remember about them.
 * Invariant: a caller reaches only memories of its own tenant and user. A memory of another user is reported like a
 * missing one.
 */
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { editMemory, eraseMemories, eraseMemory, listMemories } from "../../../session/memories.ts";
import type { Memory } from "../../../store/memories.ts";
import { RequestError } from "../../errors.ts";
import { type Route, defineRoute } from "../route.ts";

const list = defineRoute({
  method: "GET",
  path: "/memories",
  summary:
    "Lists the caller's memories: pinned ones before the others, otherwise the most recently changed first.",
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
  summary: "Changes or pins a memory.",
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
  summary: "Deletes a memory.",
  scope: "write",
  async handle({ context, caller, params }) {
    if (!(await eraseMemory(context, caller, params["memory"] ?? "")))
      throw new RequestError("NOT_FOUND", "The memory does not exist, or belongs to another user.");
    return { status: 204 };
  },
});

const eraseAll = defineRoute({
  method: "DELETE",
  path: "/memories",
  summary: "Deletes all memories of the caller.",
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

/** Drafts of forms in memory. */
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { checkDraft, type FormDraft, type FormDrafts } from "../ports/form-drafts.ts";
import { DRAFTS, findInteraction } from "./interaction-rows.ts";
import { requireSession } from "./session-rows.ts";
import type { MemoryTables } from "./tables.ts";

export function memoryFormDrafts(tables: MemoryTables, env: Env): FormDrafts {
  return {
    save: (ref, interaction, values) =>
      tables.run((rows) => {
        const json = checkDraft(values);
        requireSession(rows, ref);
        const row = findInteraction(rows, ref, interaction);
        if (row?.kind !== "form" || row.status !== "pending") return null;
        const version = (rows.get(DRAFTS, ref.session, interaction)?.version ?? 0) + 1;
        const draft: FormDraft = { values: JSON.parse(json) as Json, version, savedAt: env.now() };
        rows.put(DRAFTS, ref.session, interaction, draft);
        return draft;
      }),
    get: (ref, interaction) =>
      tables.run((rows) => {
        const row = findInteraction(rows, ref, interaction);
        if (row?.status !== "pending") return null;
        return rows.get(DRAFTS, ref.session, interaction) ?? null;
      }),
  };
}

/**
 * `listKnowledge` and `removeKnowledge` run `turnstream knowledge list` and `remove`, for the objects in the knowledge
 * bases of a tenant.
 * Invariant: a whole knowledge base is removed only with `--all`, and never together with an object id. An unknown
 * tenant or object is an error, not an empty result.
 */
import type { Knowledge, KnowledgeObject } from "@turnstream/knowledge";
import { CommandError, UsageError } from "../cli-context.ts";
import type { CommandCall } from "../command-call.ts";
import { importFeature } from "../import-feature.ts";
import { requireTenant, withStore } from "../open-backend.ts";

const PAGE = 100;

export interface ListKnowledgeOptions {
  readonly tenant: string;
  readonly base?: string;
}

export interface RemoveKnowledgeOptions {
  readonly tenant: string;
  readonly base: string;
  readonly all?: boolean;
}

export const importKnowledgePackage = () => importFeature("knowledge", () => import("@turnstream/knowledge"));

export async function listKnowledge(call: CommandCall, options: ListKnowledgeOptions): Promise<void> {
  const { knowledgeOf } = await importKnowledgePackage();
  const { tenant, base } = options;
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    if (base === undefined) {
      const bases = await knowledgeOf(store).bases(tenant);
      call.print(
        bases,
        bases.map((entry) => `${entry.base}\t${entry.objects} objects`),
      );
      return;
    }
    const objects = await readObjects(knowledgeOf(store), tenant, base);
    call.print(
      objects,
      objects.map(({ id, lines, title }) => `${id}\t${lines} lines\t${title}`),
    );
  });
}

async function readObjects(knowledge: Knowledge, tenant: string, base: string): Promise<KnowledgeObject[]> {
  const objects: KnowledgeObject[] = [];
  for (;;) {
    const after = objects.at(-1)?.id;
    const page = await knowledge.list(tenant, base, {
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    objects.push(...page);
    if (page.length < PAGE) return objects;
  }
}

export async function removeKnowledge(
  call: CommandCall,
  { tenant, base, all = false }: RemoveKnowledgeOptions,
  object?: string,
): Promise<void> {
  if ((object === undefined) !== all)
    throw new UsageError("Exactly one object id, or --all for the whole knowledge base, is required.");
  const { knowledgeOf } = await importKnowledgePackage();
  const removed = await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    if (object === undefined) return knowledgeOf(store).removeBase(tenant, base);
    if (!(await knowledgeOf(store).remove(tenant, base, object)))
      throw new CommandError(`There is no object ${object} in the knowledge base ${base}.`);
    return 1;
  });
  call.print({ removed }, [`${removed} removed`]);
}

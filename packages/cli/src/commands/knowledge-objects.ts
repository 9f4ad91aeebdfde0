/**
 * `listKnowledge` and `removeKnowledge` run `turnstream knowledge list` and `remove`, for the objects in the knowledge
 * bases of a tenant.
 * Invariant: a whole knowledge base is removed only with `--all`, and never together with an object id. An unknown
 * tenant or object is an error, not an empty result.
 */
import type { Store } from "@turnstream/server/internal";
import { CommandError, UsageError } from "../cli-context.ts";
import type { CommandCall } from "../command-call.ts";
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

export async function listKnowledge(call: CommandCall, options: ListKnowledgeOptions): Promise<void> {
  const { tenant, base } = options;
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    if (base === undefined) {
      const bases = await store.knowledge.bases(tenant);
      call.print(
        bases,
        bases.map((entry) => `${entry.base}\t${entry.objects} objects`),
      );
      return;
    }
    const objects = await readObjects(store, tenant, base);
    call.print(
      objects,
      objects.map(({ id, lines, title }) => `${id}\t${lines} lines\t${title}`),
    );
  });
}

async function readObjects({ knowledge }: Store, tenant: string, base: string) {
  const objects: Awaited<ReturnType<typeof knowledge.list>>[number][] = [];
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
  const removed = await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    if (object === undefined) return store.knowledge.removeBase(tenant, base);
    if (!(await store.knowledge.remove(tenant, base, object)))
      throw new CommandError(`There is no object ${object} in the knowledge base ${base}.`);
    return 1;
  });
  call.print({ removed }, [`${removed} removed`]);
}

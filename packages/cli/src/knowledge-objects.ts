/**
 * `knowledgeList` and `knowledgeRemove` are the commands `turnstream knowledge list` and `remove`, for the objects in
 * the knowledge bases of a tenant.
 * Invariant: a whole knowledge base is removed only with `--all`, and never together with an object id. An unknown
 * tenant or object is an error, not an empty result.
 */
import { parseArgs } from "node:util";
import { requireTenant, withStore } from "./with-store.ts";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";

const PAGE = 100;

export async function knowledgeList(args: readonly string[], context: CliContext): Promise<void> {
  const options = { tenant: { type: "string" }, base: { type: "string" } } as const;
  const { tenant, base } = parseArgs({ args: [...args], options }).values;
  if (tenant === undefined) throw new UsageError("--tenant is required.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    if (base === undefined) {
      for (const entry of await store.knowledge.bases(tenant))
        context.out(`${entry.base}\t${entry.objects} objects\n`);
      return;
    }
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const objects = await store.knowledge.list(tenant, base, page);
      for (const { id, lines, title } of objects) context.out(`${id}\t${lines} lines\t${title}\n`);
      after = objects.at(-1)?.id;
      if (objects.length < PAGE) return;
    }
  });
}

export async function knowledgeRemove(args: readonly string[], context: CliContext): Promise<void> {
  const options = { tenant: { type: "string" }, base: { type: "string" }, all: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const { tenant, base, all = false } = values;
  const [object] = positionals;
  if (tenant === undefined || base === undefined) throw new UsageError("--tenant and --base are required.");
  if ((object === undefined) !== all || positionals.length > 1)
    throw new UsageError("Exactly one object id, or --all for the whole knowledge base, is required.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    if (object === undefined) {
      context.out(`${await store.knowledge.removeBase(tenant, base)} removed\n`);
      return;
    }
    if (!(await store.knowledge.remove(tenant, base, object)))
      throw new CommandError(`There is no object ${object} in the knowledge base ${base}.`);
    context.out("1 removed\n");
  });
}

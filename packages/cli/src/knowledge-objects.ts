/** `turnstream knowledge list` and `remove`: what is in the bases of a tenant, and taking it out again. */
import { parseArgs } from "node:util";
import { requireTenant, withStore } from "./with-store.ts";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";

const PAGE = 100;

export async function knowledgeList(args: readonly string[], context: CliContext): Promise<void> {
  const options = { tenant: { type: "string" }, base: { type: "string" } } as const;
  const { tenant, base } = parseArgs({ args: [...args], options }).values;
  if (tenant === undefined) throw new UsageError("Say whose bases: --tenant.");
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
  if (tenant === undefined || base === undefined) throw new UsageError("Say where: --tenant and --base.");
  if ((object === undefined) !== all || positionals.length > 1)
    throw new UsageError("Name one object, or say --all for the whole base.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    if (object === undefined) {
      context.out(`${await store.knowledge.removeBase(tenant, base)} removed\n`);
      return;
    }
    if (!(await store.knowledge.remove(tenant, base, object)))
      throw new CommandError(`There is no object ${object} in the base ${base}.`);
    context.out("1 removed\n");
  });
}

/** `turnstream knowledge list` and `remove`: what is in the bases of a tenant, and taking it out again. */
import { parseArgs } from "node:util";
import { requireTenant, withStore } from "./with-store.ts";
import { CommandError, UsageError, type World } from "./cli-context.ts";

const PAGE = 100;

export async function knowledgeList(args: readonly string[], world: World): Promise<void> {
  const options = { tenant: { type: "string" }, base: { type: "string" } } as const;
  const { tenant, base } = parseArgs({ args: [...args], options }).values;
  if (tenant === undefined) throw new UsageError("Say whose bases: --tenant.");
  await withStore(world, async (store) => {
    await requireTenant(store, tenant);
    if (base === undefined) {
      for (const one of await store.knowledge.bases(tenant))
        world.out(`${one.base}\t${one.objects} objects\n`);
      return;
    }
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const objects = await store.knowledge.list(tenant, base, page);
      for (const { id, lines, title } of objects) world.out(`${id}\t${lines} lines\t${title}\n`);
      after = objects.at(-1)?.id;
      if (objects.length < PAGE) return;
    }
  });
}

export async function knowledgeRemove(args: readonly string[], world: World): Promise<void> {
  const options = { tenant: { type: "string" }, base: { type: "string" }, all: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const { tenant, base, all = false } = values;
  const [object] = positionals;
  if (tenant === undefined || base === undefined) throw new UsageError("Say where: --tenant and --base.");
  if ((object === undefined) !== all || positionals.length > 1)
    throw new UsageError("Name one object, or say --all for the whole base.");
  await withStore(world, async (store) => {
    await requireTenant(store, tenant);
    if (object === undefined) {
      world.out(`${await store.knowledge.removeBase(tenant, base)} removed\n`);
      return;
    }
    if (!(await store.knowledge.remove(tenant, base, object)))
      throw new CommandError(`There is no object ${object} in the base ${base}.`);
    world.out("1 removed\n");
  });
}

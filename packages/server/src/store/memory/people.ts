/** People's numbers in memory. */
import { checkCount } from "../rules/arguments.ts";
import type { People } from "../ports/people.ts";
import { requireTenant } from "./ledger-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

const PEOPLE = table<{ readonly number: number; readonly user: string }>("people", "tenant");

export function memoryPeople(tables: MemoryTables): People {
  return {
    numberOf: (tenant, user) =>
      tables.run((rows) => {
        requireTenant(rows, tenant);
        const there = rows.get(PEOPLE, tenant, user);
        if (there !== undefined) return there.number;
        const number = rows.next("people");
        rows.put(PEOPLE, tenant, user, { number, user });
        return number;
      }),
    nameOf: (tenant, number) =>
      tables.run((rows) => {
        checkCount(number, "number");
        return rows.of(PEOPLE, tenant).find((row) => row.number === number)?.user ?? null;
      }),
    forget: (tenant, user) => tables.run((rows) => rows.remove(PEOPLE, tenant, user)),
  };
}

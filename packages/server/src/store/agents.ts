/**
 * `Agents` is the part of the store for registered agents: what a client can know about an agent before it sends a
 * message. `postgresAgents` is its implementation.
 *
 * Invariant: agents belong to the deployment, so a row contains nothing of a tenant or user. A registered agent stays
 * known while no worker runs. Registrations run one at a time, under an advisory lock, so there are never more than
 * `MAX_AGENTS` rows, and workers that start together don't deadlock.
 */
import { sql } from "kysely";
import type { Db } from "./database/database.ts";
import { type AgentInput, AGENT_INPUTS } from "./database/schema.ts";
import { inTransaction, clock, bytewiseOrder } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkId } from "./rules/arguments.ts";

export interface RegisteredAgent {
  readonly name: string;
  /** What a run of the agent does, for users; "" if it has no label. */
  readonly label: string;
  /** What the agent is good for; "" if it has no description. */
  readonly description: string;
  readonly inputs: readonly AgentInput[];
}

export const MAX_AGENTS = 1_000;

const MAX_LABEL_CHARS = 500;

const MAX_DESCRIPTION_CHARS = 10_000;

/** The part of the store for registered agents. */
export interface Agents {
  /**
   * Registers agents by name. The last registration of a name applies.
   * @throws StoreError with INVALID for an invalid agent, with TOO_LARGE above MAX_AGENTS agents.
   */
  register(agents: readonly RegisteredAgent[]): Promise<void>;
  isKnown(name: string): Promise<boolean>;
  /** Returns all agents, ordered by name. */
  list(): Promise<RegisteredAgent[]>;
  /** Forgets an agent that no worker offers any more. Returns false if it is not registered. */
  remove(name: string): Promise<boolean>;
}

/** Cuts texts that are longer than their columns, because a long description must not prevent the start of a worker. */
export function checkAgent({ name, label, description, inputs }: RegisteredAgent): RegisteredAgent {
  const unknown = inputs.find((input) => !AGENT_INPUTS.includes(input));
  if (unknown !== undefined)
    throw new StoreError("INVALID", `inputs of an agent must be ${AGENT_INPUTS.join(", ")}`);
  return {
    name: checkId(name, "agent name"),
    label: storable(label, MAX_LABEL_CHARS),
    description: storable(description, MAX_DESCRIPTION_CHARS),
    inputs: AGENT_INPUTS.filter((input) => inputs.includes(input)),
  };
}

/** PostgreSQL's text can contain neither NUL nor lone surrogates. */
function storable(text: string, maxChars: number): string {
  return Buffer.from(text.slice(0, maxChars).replaceAll("\0", "\ufffd")).toString();
}

export function tooManyAgents(): StoreError {
  return new StoreError("TOO_LARGE", `at most ${MAX_AGENTS} agents can be registered; remove some first`);
}

export function postgresAgents(db: Db): Agents {
  return {
    async register(agents) {
      const rows = lastByName(agents.map(checkAgent));
      if (rows.length === 0) return;
      await inTransaction(db, async (tx) => {
        await sql`select pg_advisory_xact_lock(hashtextextended('agents', 0))`.execute(tx);
        await tx
          .insertInto("agents")
          .values(rows.map((row) => ({ ...row, inputs: [...row.inputs] })))
          .onConflict((on) =>
            on.column("name").doUpdateSet((eb) => ({
              label: eb.ref("excluded.label"),
              description: eb.ref("excluded.description"),
              inputs: eb.ref("excluded.inputs"),
              registered_at: clock,
            })),
          )
          .execute();
        const { count } = await tx
          .selectFrom("agents")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        if (count > MAX_AGENTS) throw tooManyAgents();
      });
    },
    async isKnown(name) {
      const row = await db.selectFrom("agents").select("name").where("name", "=", name).executeTakeFirst();
      return row !== undefined;
    },
    list: () =>
      db
        .selectFrom("agents")
        .select(["name", "label", "description", "inputs"])
        .orderBy(bytewiseOrder("name"))
        .limit(MAX_AGENTS)
        .execute(),
    async remove(name) {
      const { numDeletedRows } = await db.deleteFrom("agents").where("name", "=", name).executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

/** One statement can't update the same row twice. */
function lastByName(agents: readonly RegisteredAgent[]): RegisteredAgent[] {
  return [...new Map(agents.map((agent) => [agent.name, agent])).values()];
}

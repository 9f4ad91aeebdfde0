/**
 * `GatewayAudit` notes frequent actions of clients in the audit, a bounded number of times: tokens that a key issues,
 * reads of shares, and refused sign-ins.
 * Invariant: an action has at most one entry per subject, detail and hour, and refused sign-ins one per key, hour and
 * gateway. What a client sends never decides how much memory or how many rows this takes. An entry names a tenant only if
 * a verified credential or an existing key names it.
 */
import { createHash } from "node:crypto";
import type { AuditEntry } from "../../store/audit.ts";
import { needsAudit } from "../../store/rules/audit-actions.ts";
import { canonicalJson } from "../../store/rules/canonical-json.ts";
import type { Store } from "../../store/store.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { SingleFlight } from "../../util/single-flight.ts";
import type { SecurityEvent } from "../../util/security-event.ts";

const HOUR_MS = 60 * 60 * 1_000;
const MAX_MARKS = 10_000;
const MAX_REFUSALS = 1_000;

interface GatewayAuditContext {
  readonly store: Pick<Store, "audit" | "keys">;
  readonly env: { now(): number };
  readonly onError: ErrorHandler;
}

interface Refusals {
  /** Null if only the id of the key is known. */
  readonly tenant: string | null;
  readonly key: string | null;
  count: number;
}

export class GatewayAudit {
  readonly #context: GatewayAuditContext;
  /** Entries of this hour, so that most repeats need no query. */
  readonly #noted = new Set<string>();
  /** Concurrent requests wait for one query. */
  readonly #noting = new SingleFlight<unknown>();
  #hour = 0;
  readonly #refusals = new Map<string, Refusals>();

  constructor(context: GatewayAuditContext) {
    this.#context = context;
  }

  /**
   * Notes an action, unless any gateway has noted the same in this hour.
   * @throws StoreError if the action needs its entry and it can't be written
   */
  async noteHourly(tenant: string, entry: AuditEntry): Promise<void> {
    const { store, env, onError } = this.#context;
    const hour = Math.floor(env.now() / HOUR_MS);
    if (hour !== this.#hour) this.#noted.clear();
    this.#hour = hour;
    const { action, subject, detail = null } = entry;
    const digest = createHash("sha256")
      .update(canonicalJson([tenant, subject, detail]))
      .digest("hex");
    const mark = `${action}/${hour}/${digest}`;
    if (this.#noted.has(mark)) return;
    try {
      await this.#noting.run(mark, () => store.audit.addOnce(tenant, mark, entry));
      if (this.#noted.size < MAX_MARKS) this.#noted.add(mark);
    } catch (error) {
      if (needsAudit(entry)) throw error;
      onError(error, { during: `the audit of ${action}` });
    }
  }

  /** Counts a refused sign-in. The entry is written by `writeRefusals`. */
  count(event: SecurityEvent): void {
    const { type, tenant = null, key = null } = event;
    if (type !== "sign_in_refused" || (tenant === null && key === null)) return;
    const id = JSON.stringify([tenant, key]);
    const known = this.#refusals.get(id);
    if (known !== undefined) known.count += 1;
    // Others are only reported as security events: a client can invent any number of ids of keys.
    else if (this.#refusals.size < MAX_REFUSALS) this.#refusals.set(id, { tenant, key, count: 1 });
  }

  /** Writes the refused sign-ins since the last call. Call it every hour and at the end. */
  async writeRefusals(): Promise<void> {
    const { store, onError } = this.#context;
    const refusals = [...this.#refusals.values()];
    this.#refusals.clear();
    for (const { tenant: known, key, count } of refusals)
      try {
        const tenant = known ?? (key === null ? null : await store.keys.tenantOf(key));
        const subject = key === null ? {} : { key };
        if (tenant !== null)
          await store.audit.add(tenant, {
            actor: null,
            action: "sign_in.refused",
            subject,
            detail: { count },
          });
      } catch (error) {
        onError(error, { during: "the audit of refused sign-ins" });
      }
  }
}

/** Shares in memory. */
import type { Env } from "../../util/env.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Share, Shares } from "../ports/shares.ts";
import { StoreError } from "../errors.ts";
import { compareText, sessionRow } from "./session-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

interface ShareRow extends Share {
  readonly user: string;
  readonly revoked: boolean;
}

const SHARES = table<ShareRow>("shares", "session");

export function memoryShares(tables: MemoryTables, env: Env): Shares {
  return {
    create: (actor, of, id = env.id()) =>
      tables.run((rows) => {
        const session = sessionRow(rows, { tenant: actor.tenant, session: of });
        if (session?.user !== actor.user) throw new StoreError("NOT_FOUND", `session ${of}`);
        if (rows.all(SHARES).some((share) => share.id === id)) throw new StoreError("EXISTS", `share ${id}`);
        const { tenant, user, archived: upTo } = session;
        const row = { id, tenant, session: of, upTo, createdAt: env.now(), user, revoked: false };
        rows.put(SHARES, of, id, row);
        return shareOf(row);
      }),
    revoke: (actor, id) =>
      tables.run((rows) => {
        const row = rows.all(SHARES).find((share) => share.id === id && !share.revoked);
        if (row?.tenant !== actor.tenant || row.user !== actor.user) return false;
        rows.put(SHARES, row.session, id, { ...row, revoked: true });
        return true;
      }),
    find: (id) =>
      tables.run((rows) => {
        const row = rows.all(SHARES).find((share) => share.id === id && !share.revoked);
        return row === undefined ? null : shareOf(row);
      }),
    list: (actor, session) =>
      tables.run((rows) =>
        rows
          .of(SHARES, session)
          .filter((row) => row.tenant === actor.tenant && row.user === actor.user && !row.revoked)
          .toSorted((a, b) => a.createdAt - b.createdAt || compareText(a.id, b.id))
          .slice(-MAX_BATCH)
          .map(shareOf),
      ),
  };
}

function shareOf({ user: _, revoked: _r, ...share }: ShareRow): Share {
  return share;
}

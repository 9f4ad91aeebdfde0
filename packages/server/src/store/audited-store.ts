/**
 * `createAuditedStore` returns a store that notes new and revoked keys and shares in the audit, whichever code changes
 * them.
 *
 * Invariant: the change and its entry are one commit, also inside a transaction of the caller. Other changes are noted by
 * the functions of `session/` and `fork/` that make them.
 */
import type { Store } from "./store.ts";

export function createAuditedStore(store: Store): Store {
  return {
    ...store,
    keys: {
      ...store.keys,
      create: (tenant, key) =>
        store.transaction(async (tx) => {
          const made = await tx.keys.create(tenant, key);
          const { id, scopes, expiresAt } = made.key;
          const detail = { scopes: [...scopes], expires_at: expiresAt };
          await tx.audit.add(tenant, { actor: null, action: "key.created", subject: { key: id }, detail });
          return made;
        }),
      revoke: (tenant, id) =>
        store.transaction(async (tx) => {
          const isRevoked = await tx.keys.revoke(tenant, id);
          if (isRevoked)
            await tx.audit.add(tenant, { actor: null, action: "key.revoked", subject: { key: id } });
          return isRevoked;
        }),
    },
    shares: {
      ...store.shares,
      create: (actor, session, share) =>
        store.transaction(async (tx) => {
          const made = await tx.shares.create(actor, session, share);
          const { tenant, user } = actor;
          const subject = { session, share: made.id };
          const detail = { expires_at: made.expiresAt };
          await tx.audit.add(tenant, { actor: user, action: "share.opened", subject, detail });
          return made;
        }),
      revoke: (actor, id) =>
        store.transaction(async (tx) => {
          const isRevoked = await tx.shares.revoke(actor, id);
          const { tenant, user } = actor;
          if (isRevoked)
            await tx.audit.add(tenant, { actor: user, action: "share.revoked", subject: { share: id } });
          return isRevoked;
        }),
    },
    transaction: (work) => store.transaction((tx) => work(createAuditedStore(tx))),
  };
}

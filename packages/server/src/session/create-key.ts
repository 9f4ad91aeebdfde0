/** `createKey` creates an API key in code, as `turnstream keys create` does in a shell, and `ensureTenant` a tenant. */
import { isStoreError } from "../store/errors.ts";
import type { KeyInfo, NewKey } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/** Creates a tenant if it doesn't exist. Can be called again, and by several processes at once. */
export async function ensureTenant(store: Store, id: string): Promise<void> {
  if ((await store.tenants.get(id)) !== null) return;
  try {
    await store.tenants.create({ id, name: id });
  } catch (error) {
    // Another process has created it in the meantime.
    if (!isStoreError(error, "EXISTS")) throw error;
  }
}

/**
 * Also creates the tenant if it doesn't exist.
 * @returns the key and its secret, which can't be read again, because the store has only its hash
 */
export async function createKey(
  store: Store,
  tenant: string,
  key: NewKey,
): Promise<{ readonly key: KeyInfo; readonly secret: string }> {
  await ensureTenant(store, tenant);
  return store.keys.create(tenant, key);
}

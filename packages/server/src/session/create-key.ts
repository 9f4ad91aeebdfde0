/** `createKey` creates an API key in code. `turnstream keys create` does it from a shell. */
import type { KeyInfo, NewKey } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { ensureTenant } from "./lifecycle/ensure-tenant.ts";

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

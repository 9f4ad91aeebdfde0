/** `ensureTenant` creates a tenant if it doesn't exist. */
import { isStoreError } from "../../store/errors.ts";
import type { Store } from "../../store/store.ts";

/** Can be called again, and by several processes at once. */
export async function ensureTenant(store: Store, id: string): Promise<void> {
  if ((await store.tenants.get(id)) !== null) return;
  try {
    await store.tenants.create({ id, name: id });
  } catch (error) {
    // Another process has created it in the meantime.
    if (!isStoreError(error, "EXISTS")) throw error;
  }
}

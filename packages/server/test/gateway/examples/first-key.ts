/** `firstKey` creates a tenant and its first API key. Printed in docs/gateway.md. */
import type { Store } from "@turnstream/server/ports";

export async function firstKey(store: Store): Promise<string> {
  await store.tenants.create({ id: "acme", name: "Acme" });
  const { secret } = await store.keys.create("acme", { name: "our backend", scopes: [] });
  return secret; // can't be read again: the store has only its hash
}

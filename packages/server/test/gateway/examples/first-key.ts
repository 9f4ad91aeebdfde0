/** `firstKey` creates a tenant and its first API key. Printed in docs/gateway.md. */
import { createKey, type Store } from "@turnstream/server";

export async function firstKey(store: Store): Promise<string> {
  const { secret } = await createKey(store, "acme", { name: "our backend", scopes: [] });
  return secret; // can't be read again: the store has only its hash
}

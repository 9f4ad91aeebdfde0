/** `client` is the only client of the page. The gateway signs its user in, by the cookie of the visitor. */
import { createClient, signIn } from "@turnstream/client";

export const client = createClient({ url: location.origin, auth: () => signIn() });

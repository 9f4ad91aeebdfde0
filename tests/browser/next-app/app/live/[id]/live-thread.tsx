/** The thread of the live session, as in docs/nextjs.md. */
"use client";
import { type Client, createClient, signIn } from "@turnstream/client";
import { SessionProvider, Thread } from "@turnstream/react";
import { useState } from "react";

let pageClient: Client | undefined;

function getClient(): Client {
  if (typeof window === "undefined") return createClient({ url: "", auth: () => signIn() });
  return (pageClient ??= createClient({ url: "", auth: () => signIn() }));
}

export function LiveThread({ id, snapshot }: { id: string; snapshot: string | null }) {
  const [session] = useState(() => getClient().session(id, { snapshot }));
  return (
    <SessionProvider session={session}>
      <Thread />
    </SessionProvider>
  );
}

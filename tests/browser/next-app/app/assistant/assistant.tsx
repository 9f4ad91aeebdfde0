/** The chat, with a client whose API is under a path prefix, and with colored code. */
"use client";

import { type Client, createClient, signIn } from "@turnstream/client";
import { Chat } from "@turnstream/react";
import { highlight } from "@turnstream/react/highlight";
import "@turnstream/react/highlight.css";
import { useEffect, useState } from "react";

const markdownPlugins = [highlight()];

export function Assistant() {
  const [client, setClient] = useState<Client | null>(null);
  useEffect(() => {
    const url = `${location.origin}/assistant`;
    setClient(createClient({ url, auth: () => signIn(url) }));
  }, []);
  return client === null ? null : <Chat client={client} markdownPlugins={markdownPlugins} />;
}

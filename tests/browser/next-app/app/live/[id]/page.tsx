/** A live session that the server renders, as in docs/nextjs.md. */
import { readSession } from "@turnstream/next";
import { headers } from "next/headers";
import { app } from "../../../turnstream.ts";
import { LiveThread } from "./live-thread.tsx";

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const snapshot = await readSession(app, id, await headers());
  return <LiveThread id={id} snapshot={snapshot} />;
}

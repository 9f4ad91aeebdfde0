/** A server component around the chat: it reads the request, and marks its page as dark with a class. */
import { cookies } from "next/headers";
import { Assistant } from "./assistant.tsx";

export default async function Page() {
  const user = (await cookies()).get("user")?.value ?? "guest";
  return (
    <main className="dark">
      <h1>{`Hello, ${user}.`}</h1>
      <Assistant />
    </main>
  );
}

/** `App` is the same on the server and in the page, so that hydration can be tested. */
import type { Session } from "@turnstream/client";
import { type Components, SessionProvider, Thread } from "@turnstream/react";
import type { ReactNode } from "react";

interface AppProps {
  readonly session: Session;
  readonly components?: Partial<Components>;
}

const USERS = { binh: "Bình" };

export function App({ session, components = {} }: AppProps): ReactNode {
  return (
    <SessionProvider session={session} components={components} userNames={USERS}>
      <Thread label="Recorded" />
    </SessionProvider>
  );
}

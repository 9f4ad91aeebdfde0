/** `App` is the same on the server and in the page, so that hydration can be tested. */
import type { Session } from "@turnstream/client";
import { type Components, type MarkdownPlugin, SessionProvider, Thread } from "@turnstream/react";
import type { ReactNode } from "react";

interface AppProps {
  readonly session: Session;
  readonly components?: Partial<Components>;
  readonly plugins?: readonly MarkdownPlugin[];
}

const NO_PLUGINS: readonly MarkdownPlugin[] = [];
const USERS = { binh: "Bình" };

export function App({ session, components = {}, plugins = NO_PLUGINS }: AppProps): ReactNode {
  return (
    <SessionProvider session={session} components={components} markdownPlugins={plugins} userNames={USERS}>
      <Thread label="Recorded" />
    </SessionProvider>
  );
}

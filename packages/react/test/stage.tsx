/** `Stage` wraps components of a thread in a `SessionProvider` for tests. Citations render only their number. */
import type { Session } from "@turnstream/client";
import { createStaticSession } from "@turnstream/client/static";
import type { ReactNode } from "react";
import type { CitationProps } from "../src/components.ts";
import { type MarkdownPlugin, NO_PLUGINS } from "../src/content/markdown-plugin.ts";
import type { LinkPolicy } from "../src/link-policy.ts";
import { SessionProvider } from "../src/provider.tsx";
import { ThreadRoot } from "../src/thread/thread-root.tsx";

interface StageProps {
  readonly session?: Session;
  readonly links?: LinkPolicy;
  readonly plugins?: readonly MarkdownPlugin[];
  readonly children: ReactNode;
}

const components = { Citation: ({ number }: CitationProps) => <sup>{number}</sup> };
const nothing = createStaticSession([]);

export function Stage({ session = nothing, links, plugins = NO_PLUGINS, children }: StageProps) {
  return (
    <SessionProvider
      session={session}
      components={components}
      markdownPlugins={plugins}
      {...(links === undefined ? {} : { linkPolicy: links })}
    >
      <ThreadRoot>{children}</ThreadRoot>
    </SessionProvider>
  );
}

/** A small place for parts of a thread to stand in: a session, English, and parts that show what they were given. */
import type { Session } from "@turnstream/client";
import { recordedSession } from "@turnstream/client/recorded";
import type { ReactNode } from "react";
import type { CitationProps, Components } from "../src/components.ts";
import { SharedContext } from "../src/context.ts";
import { type LinkPolicy, NO_HOSTS } from "../src/link-policy.ts";
import { en } from "../src/strings/en/index.ts";

interface StageProps {
  readonly session?: Session;
  readonly links?: LinkPolicy;
  readonly components?: Partial<Components>;
  readonly children: ReactNode;
}

const Citation = ({ number }: CitationProps) => <sup>{number}</sup>;

export function Stage({ session = recordedSession([]), links = NO_HOSTS, components, children }: StageProps) {
  const parts = { Citation, ...components } as Components;
  return (
    <SharedContext value={{ session, strings: en, components: parts, links }}>
      <div className="ts-root">{children}</div>
    </SharedContext>
  );
}

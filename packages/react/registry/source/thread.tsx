"use client";

import {
  SessionProvider,
  type SessionProviderProps,
  Thread as Turns,
  type ThreadProps,
} from "@turnstream/react";
import { ApprovalCard } from "./approval-card.tsx";
import { Composer } from "./composer.tsx";

interface Props extends Omit<SessionProviderProps, "children" | "components"> {
  readonly thread?: ThreadProps;
}

// Outside of the component, so that it stays the same between renders.
const components = { ApprovalCard, Composer };

/** A session with the composer and the approvals of this folder. It is as tall as the element around it. */
export function Thread({ thread, ...provider }: Props) {
  return (
    <SessionProvider components={components} {...provider}>
      <Turns {...thread} />
    </SessionProvider>
  );
}

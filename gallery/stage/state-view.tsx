/** `StateView` renders the components of a state with its session. */
import { en, SessionProvider, type Strings, Thread, useThreadContext } from "@turnstream/react";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import type { GalleryState } from "../states/state.ts";
import type { Appearance } from "./handle.ts";
import type { Playback } from "./playback.ts";

const AGENT_NAMES = { market: "Market assistant", analyst: "Analyst", lawyer: "Lawyer" };

const USER_NAMES = { usr_an: "An Nguyễn" };

interface StateViewProps {
  readonly playback: Playback;
  readonly locale: Appearance["locale"];
}

export function StateView({ playback: { state, session }, locale }: StateViewProps) {
  return (
    <SessionProvider
      session={session}
      strings={STRINGS[locale]}
      agentNames={AGENT_NAMES}
      userNames={USER_NAMES}
    >
      <StateContent state={state} />
    </SessionProvider>
  );
}

function StateContent({ state }: { readonly state: GalleryState }) {
  const { components } = useThreadContext();
  if (state.shows === "composer") return <components.Composer isDisabled={state.isDisabled ?? false} />;
  // Turns are shown without the composer, which has its own states.
  return state.shows === "thread" ? <Thread /> : <Thread composer={null} />;
}

/** The languages of the gallery. */
const STRINGS: Readonly<Record<Appearance["locale"], Strings>> = { en, vi, "zh-CN": zhCn };

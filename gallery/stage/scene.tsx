/** A state as people see it: the components on its session. */
import { SessionProvider, Thread, useThreadContext } from "@turnstream/react";
import type { GalleryState } from "../states/state.ts";
import type { Dress } from "./handle.ts";
import type { Play } from "./play.ts";
import { WORDS } from "./words.ts";

const AGENTS = { market: "Market assistant", analyst: "Analyst", lawyer: "Lawyer" };

const PEOPLE = { usr_an: "An Nguyễn" };

interface SceneProps {
  readonly play: Play;
  readonly locale: Dress["locale"];
}

export function Scene({ play: { state, session }, locale }: SceneProps) {
  return (
    <SessionProvider session={session} strings={WORDS[locale]} agentNames={AGENTS} userNames={PEOPLE}>
      <Shown state={state} />
    </SessionProvider>
  );
}

function Shown({ state }: { readonly state: GalleryState }) {
  const { components } = useThreadContext();
  if (state.shows === "composer") return <components.Composer isDisabled={state.isDisabled ?? false} />;
  // Turns are shown alone: what is around them is a state of its own.
  return state.shows === "thread" ? <Thread /> : <Thread composer={null} />;
}

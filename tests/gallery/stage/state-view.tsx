/** `StateView` renders the components of a state with its session. */
import {
  Chat,
  DEFAULT_COMPONENTS,
  en,
  SessionProvider,
  type Strings,
  Thread,
  ThreadRoot,
} from "@turnstream/react";
import { SessionList, useSessions } from "@turnstream/react/chat";
import { ShareDialog, SharedThread } from "@turnstream/react/sharing";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import { zhTw } from "@turnstream/react/strings/zh-tw";
import type { Client } from "@turnstream/client";
import { useMemo } from "react";
import type { GalleryState } from "../states/state.ts";
import type { Appearance } from "./handle.ts";
import { fakeClient } from "./fake-client.ts";
import { fakeSharing } from "./fake-sharing.ts";
import type { Playback } from "./playback.ts";

const AGENT_NAMES = { market: "Market assistant", analyst: "Analyst", lawyer: "Lawyer" };

const USER_NAMES = { usr_an: "An Nguyễn" };

interface StateViewProps {
  readonly playback: Playback;
  readonly locale: Appearance["locale"];
}

export function StateView({ playback: { state, session }, locale }: StateViewProps) {
  const sharing = useMemo(() => fakeSharing(state, session), [state, session]);
  const provided = { strings: STRINGS[locale], agentNames: AGENT_NAMES, userNames: USER_NAMES };
  if (state.renderPage !== undefined)
    return <iframe className="g-page" title={state.name} srcDoc={state.renderPage(locale)} />;
  if (state.shows === "shared")
    return <SharedThread client={sharing} token="gallery" onContinue={ignore} {...provided} />;
  if (state.shows === "session-list" || state.shows === "chat")
    return <ChatState state={state} session={session} provided={provided} />;
  return (
    <SessionProvider session={session} {...provided}>
      <StateContent state={state} />
      {state.shows === "share-dialog" && (
        <ShareDialog client={sharing} isOpen onClose={ignore} getLink={linkTo} />
      )}
    </SessionProvider>
  );
}

interface ChatStateProps extends Pick<Playback, "state" | "session"> {
  readonly provided: { readonly strings: Strings };
}

function ChatState({ state, session, provided }: ChatStateProps) {
  const client = useMemo(() => fakeClient(state, session), [state, session]);
  if (state.shows === "session-list") return <ListState client={client} strings={provided.strings} />;
  return (
    <div className={state.sessions?.isNarrow === true ? "g-narrow" : undefined}>
      <Chat client={client} route={false} suggestions={SUGGESTIONS} {...provided} />
    </div>
  );
}

function ListState({ client, strings }: { readonly client: Client; readonly strings: Strings }) {
  const sessions = useSessions(client);
  return (
    <div className="g-side">
      <SessionList sessions={sessions} current="session1" strings={strings} onOpen={ignore} onNew={ignore} />
    </div>
  );
}

const SUGGESTIONS = ["VN-Index?", "VNM < 83.000?", "VNM, 7D", "MCH"];
const ignore = (): void => {};
const linkTo = (token: string): string => `https://chat.example.com/shared/${token}`;

function StateContent({ state }: { readonly state: GalleryState }) {
  if (state.shows === "composer")
    return (
      <ThreadRoot>
        <DEFAULT_COMPONENTS.Composer {...state.composer} />
      </ThreadRoot>
    );
  // Turns are shown without the composer, which has its own states.
  if (state.shows !== "thread") return <Thread composer={null} />;
  return <Thread {...(state.hasSuggestions === true && { suggestions: SUGGESTIONS })} />;
}

/** The languages of the gallery. */
const STRINGS: Readonly<Record<Appearance["locale"], Strings>> = { en, vi, "zh-CN": zhCn, "zh-TW": zhTw };

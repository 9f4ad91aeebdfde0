/**
 * The page of the browser tests: one live session, as in an app. `openSession` reads most parameters. `?locale=` is the
 * language, and `?share=` shows the session of a link instead.
 */
import type { SessionInfo } from "@turnstream/client";
import { en, SessionProvider, type Strings, Thread } from "@turnstream/react";
import { ShareDialog, SharedThread } from "@turnstream/react/sharing";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import { zhTw } from "@turnstream/react/strings/zh-tw";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { openSession } from "./open-session.ts";
import "@turnstream/react/styles.css";

const query = new URLSearchParams(location.search);
const STRINGS: Readonly<Record<string, Strings>> = { en, vi, "zh-CN": zhCn, "zh-TW": zhTw };

const { client, session, composer } = openSession();

/** The address of this page with some parameters changed. */
function addressWith(changes: Readonly<Record<string, string>>): string {
  return `${location.origin}/?${new URLSearchParams({ ...Object.fromEntries(query), ...changes })}`;
}

function onContinue({ id }: SessionInfo): void {
  location.href = addressWith({ share: "", session: id });
}

function Sharing() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Share
      </button>
      <ShareDialog
        client={client}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        getLink={(token) => addressWith({ share: token, session: "" })}
      />
    </>
  );
}

const place = document.getElementById("root");
const share = query.get("share") ?? "";
if (place !== null)
  createRoot(place).render(
    share === "" ? (
      <SessionProvider session={session} strings={STRINGS[query.get("locale") ?? "en"] ?? en}>
        {query.has("sharing") && <Sharing />}
        <Thread composer={composer} />
      </SessionProvider>
    ) : (
      <SharedThread client={client} token={share} onContinue={onContinue} />
    ),
  );

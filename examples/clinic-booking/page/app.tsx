/**
 * `App` is the page: a bar and one conversation. The URL names the session (`#/<id>`), so that a reload or a second tab
 * opens the same one.
 */
import { createClient, type Session, signIn } from "@turnstream/client";
import { SessionProvider, Thread } from "@turnstream/react";
import { zhTw } from "@turnstream/react/strings/zh-tw";
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";

const client = createClient({ url: location.origin, auth: () => signIn() });

const AGENT_NAMES = { clinic: "預約助理" };
const SUGGESTIONS = ["我想預約洗牙", "我想預約牙齒檢查"];

const readRoute = (): string | null => /^#\/([^/]+)$/.exec(location.hash)?.[1] ?? null;

function onRoute(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function App(): ReactNode {
  const id = useSyncExternalStore(onRoute, readRoute);
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    if (id !== null) return undefined;
    let isCurrent = true;
    const open = async (): Promise<void> => {
      const created = await client.createSession();
      if (isCurrent) location.replace(`#/${created.id}`);
    };
    open().catch(() => setFailed(true));
    return () => {
      isCurrent = false;
    };
  }, [id]);
  return (
    <div className="ts-root cb-app">
      <header className="cb-bar">
        <span className="cb-mark" aria-hidden="true" />
        <h1>青禾牙醫</h1>
        <a className="ts-button" href="#/">
          新的預約
        </a>
      </header>
      {id === null ? (
        <p className="cb-opening" role="status">
          {isFailed ? "目前無法連線，請稍後重新整理。" : "載入中…"}
        </p>
      ) : (
        <Conversation session={client.session(id)} />
      )}
    </div>
  );
}

function Conversation({ session }: { readonly session: Session }): ReactNode {
  const welcome = (
    <>
      <h3>線上預約</h3>
      <p>告訴我想看的項目，我會幫您安排時段並代收訂金。</p>
      <p className="cb-note">這是範例：診所是虛構的，付款使用沙箱，不會扣款。</p>
    </>
  );
  return (
    <SessionProvider session={session} strings={zhTw} agentNames={AGENT_NAMES}>
      <Thread
        welcome={welcome}
        suggestions={SUGGESTIONS}
        composer={{ placeholder: "輸入訊息，例如：我想預約洗牙" }}
      />
    </SessionProvider>
  );
}

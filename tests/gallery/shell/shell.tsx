/** `Shell` is the gallery around its stage: the list of states, the appearance switches and the player. */
import { useCallback, useEffect, useRef, useState } from "react";
import { type Address, readAddress, writeAddress } from "../stage/address.ts";
import type { GalleryHandle } from "../stage/handle.ts";
import { List } from "./list.tsx";
import { Player } from "./player.tsx";
import { Switches } from "./switches.tsx";

/** What the stage reports; null before it has loaded. */
interface Seen {
  readonly handle: GalleryHandle;
  readonly at: number;
}

export function Shell({ states }: { readonly states: readonly string[] }) {
  const [address, setAddress] = useState<Address>(() => {
    const read = readAddress(location.search);
    return states.includes(read.state) ? read : { ...read, state: states[0] ?? "", at: null };
  });
  const [first] = useState(address);
  const [seen, setSeen] = useState<Seen | null>(null);
  const frame = useRef<HTMLIFrameElement>(null);

  useEffect(() => history.replaceState(null, "", writeAddress(address)), [address]);
  useEffect(() => {
    document.documentElement.dataset["theme"] = address.theme;
    if (address.theme === "auto") delete document.documentElement.dataset["theme"];
  }, [address.theme]);

  const look = useCallback((): void => {
    const inner = frame.current?.contentWindow;
    const handle = inner?.gallery;
    if (inner === null || inner === undefined || handle === undefined) return;
    inner.onGallery = look;
    window.gallery = handle;
    setSeen({ handle, at: handle.at });
  }, []);

  const change = (next: Partial<Address>): void => {
    const changed = { ...address, ...next };
    setAddress(changed);
    const handle = seen?.handle;
    if (next.state !== undefined) void handle?.show(changed.state, changed.at ?? undefined);
    else if (next.at !== undefined && next.at !== null) void handle?.move(next.at);
    else void handle?.setAppearance({ theme: changed.theme, locale: changed.locale, dir: changed.dir });
  };

  return (
    <div className="ts-root g-shell">
      <List states={states} picked={address.state} onPick={(state) => change({ state, at: null })} />
      <div className="g-side">
        <Switches address={address} onChange={change} />
        <main className="g-desk">
          <iframe
            ref={frame}
            className="g-frame"
            title={`The state ${address.state}`}
            src={`./stage.html${writeAddress(first)}`}
            onLoad={look}
            style={address.width === null ? {} : { maxInlineSize: address.width }}
          />
        </main>
        {seen !== null && (
          <Player key={address.state} handle={seen.handle} at={seen.at} onMove={(at) => change({ at })} />
        )}
      </div>
    </div>
  );
}

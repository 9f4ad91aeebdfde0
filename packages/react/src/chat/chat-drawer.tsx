/**
 * `ChatDrawer` places the list of sessions beside the thread, or in a drawer above it if the chat is narrow.
 * Invariant: the styles decide which, by the width of the chat, so a server and a browser render the same. An open
 * drawer makes the rest of the chat inert and gets the focus; it closes with Escape, a press beside it, or more width.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef } from "react";
import type { ChatStrings } from "../strings/chat.ts";
import { Icon } from "../ui/icons.tsx";
import { ChatIcon } from "./chat-icon.tsx";
import { Button } from "../ui/button.tsx";

export interface ChatDrawerProps {
  readonly strings: ChatStrings;
  /** The title of the open session. */
  readonly title: string;
  readonly list: ReactNode;
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
  readonly children: ReactNode;
}

export function ChatDrawer({ strings, title, list, isOpen, onToggle, children }: ChatDrawerProps): ReactNode {
  const chat = strings.chat;
  const side = useId();
  const drawer = useRef<HTMLDivElement>(null);
  const menu = useRef<HTMLButtonElement>(null);
  const main = useRef<HTMLDivElement>(null);
  // Not as a prop, because React 18 doesn't know it.
  useLayoutEffect(() => {
    if (main.current !== null) main.current.inert = isOpen;
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return undefined;
    drawer.current?.querySelector("button")?.focus();
    // The button is hidden once the list fits beside the thread. A keyboard on the screen changes only the height.
    const onResize = (): void => {
      if (menu.current?.offsetParent === null) onToggle(false);
    };
    window.addEventListener("resize", onResize);
    return () => window.removeEventListener("resize", onResize);
  }, [isOpen, onToggle]);
  const close = (): void => {
    onToggle(false);
    // The button is inert until the next render.
    requestAnimationFrame(() => menu.current?.focus());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (isOpen && event.key === "Escape") close();
  };
  return (
    <div className="ts-chat-body" data-open={isOpen || undefined}>
      <div className="ts-chat-veil" aria-hidden="true" onClick={close} />
      <div className="ts-chat-side" id={side} ref={drawer} onKeyDown={onKeyDown}>
        <Button className="ts-icon-button ts-chat-close" aria-label={chat.closeList} onClick={close}>
          <Icon name="close" />
        </Button>
        {list}
      </div>
      <div className="ts-chat-main" ref={main}>
        <header className="ts-chat-head">
          <button
            type="button"
            className="ts-icon-button"
            ref={menu}
            aria-label={chat.openList}
            aria-expanded={isOpen}
            aria-controls={side}
            onClick={() => onToggle(true)}
          >
            <ChatIcon name="menu" />
          </button>
          <span className="ts-chat-title">
            <bdi>{title}</bdi>
          </span>
        </header>
        {children}
      </div>
    </div>
  );
}

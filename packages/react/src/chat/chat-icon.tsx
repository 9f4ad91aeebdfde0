/**
 * `ChatIcon` shows an icon of the list of sessions.
 * Invariant: these icons are in the chunk of the chat, not in the first load.
 */
import type { ReactNode } from "react";
import { IconShape } from "../ui/icons.tsx";

const PATHS = {
  plus: "M8 3.5v9M3.5 8h9",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  edit: "M3 13l.8-3L11 2.8a1 1 0 0 1 1.4 0l.8.8a1 1 0 0 1 0 1.4L6 12.2 3 13ZM9.7 4.1l2.2 2.2",
  bin: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
};

export function ChatIcon({ name }: { readonly name: keyof typeof PATHS }): ReactNode {
  return <IconShape name={name} path={PATHS[name]} />;
}

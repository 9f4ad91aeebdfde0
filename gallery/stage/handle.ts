/** What tests and the gallery's frame hold a stage by. Types only. */
import type { SessionEvent } from "@turnstream/protocol";

export const LOCALES = ["en", "vi", "zh-CN"] as const;
export const THEMES = ["auto", "light", "dark"] as const;
export const DIRECTIONS = ["ltr", "rtl"] as const;

/** How it is looked at. */
export interface Appearance {
  readonly locale: (typeof LOCALES)[number];
  readonly theme: (typeof THEMES)[number];
  readonly dir: (typeof DIRECTIONS)[number];
}

export interface ReceivedCommand {
  readonly name: string;
  readonly args: readonly unknown[];
}

export interface GalleryHandle {
  readonly states: readonly string[];
  /** Draws a state anew; settled once it is drawn. Unless told, where the state stands. */
  show(name: string, at?: number): Promise<void>;
  /** Goes to another place in the log of what is shown: on from what is there, or back. */
  move(at: number): Promise<void>;
  setAppearance(appearance: Partial<Appearance>): Promise<void>;
  /** The commands that the components gave, oldest first. */
  readonly commands: readonly ReceivedCommand[];
  readonly name: string;
  readonly events: readonly SessionEvent[];
  readonly at: number;
}

declare global {
  interface Window {
    gallery?: GalleryHandle;
    /** For the page around the stage: called after every change. */
    onGallery?: (() => void) | undefined;
  }
}

/**
 * `GalleryHandle` is the interface with which tests and the gallery's frame control a stage. Types and constants only.
 */
import type { SessionEvent } from "@turnstream/protocol";

export const LOCALES = ["en", "vi", "zh-CN", "zh-TW"] as const;
export const THEMES = ["auto", "light", "dark"] as const;
export const DIRECTIONS = ["ltr", "rtl"] as const;

/** How a state is shown. */
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
  /** Shows a state from scratch. Resolves when it is rendered. @default at: the default position of the state */
  show(name: string, at?: number): Promise<void>;
  /** Moves to another position in the shown log, forwards from the current state or back. */
  move(at: number): Promise<void>;
  setAppearance(appearance: Partial<Appearance>): Promise<void>;
  /** The commands that the components sent, oldest first. */
  readonly commands: readonly ReceivedCommand[];
  readonly name: string;
  readonly events: readonly SessionEvent[];
  readonly at: number;
}

declare global {
  interface Window {
    gallery?: GalleryHandle;
    /** Called after every change, for the page around the stage. */
    onGallery?: (() => void) | undefined;
  }
}

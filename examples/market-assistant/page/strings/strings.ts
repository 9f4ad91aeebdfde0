/** `PageStrings` is the type of the page's own strings in one language. */
import type { Topic } from "../../shared/suggestions.ts";

export interface PageStrings {
  readonly name: string;
  readonly tagline: string;
  readonly analyst: string;
  readonly placeholder: string;
  readonly suggestions: string;
  readonly share: string;
  /** What each suggestion shows. */
  readonly shows: Readonly<Record<Topic, string>>;
  readonly untitled: string;
  readonly menu: string;
  readonly closeMenu: string;
  readonly language: string;
  readonly theme: Readonly<Record<"system" | "light" | "dark", string>>;
  readonly invented: string;
}

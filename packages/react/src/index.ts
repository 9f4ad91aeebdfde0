/** `@turnstream/react`: hooks without styles and components with them, over a session of `@turnstream/client`. */
export type {
  ArtifactProps,
  BlockProps,
  BrandProps,
  CitationProps,
  Components,
  ComposerProps,
  GroupProps,
  MarkdownProps,
  MessageProps,
  RunProps,
  TurnProps,
} from "./components.ts";
export { type LinkPolicy, NO_HOSTS } from "./link-policy.ts";
export { useShared } from "./context.ts";
export { useBlock, useTurn } from "./hooks/use-block.ts";
export { useView } from "./hooks/use-view.ts";
export { en } from "./strings/en/index.ts";
export type { Strings } from "./strings/strings.ts";

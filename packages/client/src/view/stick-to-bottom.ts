/**
 * `stepStickToBottom` decides whether the thread stays scrolled to its end. Pure; the hook scrolls the page.
 *
 *              any scroll up, or something expanded by the user
 *   following ───────────────────────────────────────────▶ resting
 *             ◀───────────────────────────────────────────
 *              the user is at the end again, or requests it
 *
 * Invariant: a position that decreases because the content shrank or the window grew is not a scroll of the user.
 */
export interface ScrollMetrics {
  readonly top: number;
  /** Height of the whole content. */
  readonly height: number;
  /** Height of the visible part. */
  readonly visible: number;
}

/** Includes the last metrics. */
export interface StickToBottomState extends ScrollMetrics {
  readonly isAtBottom: boolean;
}

export type StickToBottomInput =
  /** The scroll position changed. */
  | { readonly type: "scrolled"; readonly at: ScrollMetrics }
  /** The content changed without a scroll. */
  | { readonly type: "resized"; readonly at: ScrollMetrics }
  /** The user scrolls up by wheel, key or touch, or expands something. */
  | { readonly type: "left" }
  | { readonly type: "to_end" };

/** Tolerates fractional pixels of zoomed pages. */
const TOLERANCE_PX = 2;
const MIN_MOVE_PX = 0.6;

export const STUCK_TO_BOTTOM: StickToBottomState = { isAtBottom: true, top: 0, height: 0, visible: 0 };

function isAtBottom({ top, height, visible }: ScrollMetrics): boolean {
  return height - top - visible <= TOLERANCE_PX;
}

export function stepStickToBottom(
  state: StickToBottomState,
  input: StickToBottomInput,
): { readonly state: StickToBottomState; readonly moveToEnd: boolean } {
  switch (input.type) {
    case "scrolled": {
      const { top, height, visible } = input.at;
      const isEnd = isAtBottom(input.at);
      const isPushed = height < state.height || visible > state.visible;
      // Even a slow scroll up counts: a finger moves by single pixels and must not be pulled back.
      const isUp = !isPushed && top < state.top - (isEnd ? MIN_MOVE_PX : 0);
      const isFollowing = !isUp && (isEnd || state.isAtBottom);
      return { state: { isAtBottom: isFollowing, ...input.at }, moveToEnd: false };
    }
    case "resized": {
      const isFollowing = state.isAtBottom || isAtBottom(input.at);
      return { state: { isAtBottom: isFollowing, ...input.at }, moveToEnd: state.isAtBottom };
    }
    case "left":
      return { state: { ...state, isAtBottom: false }, moveToEnd: false };
    case "to_end":
      return { state: { ...state, isAtBottom: true }, moveToEnd: true };
  }
}

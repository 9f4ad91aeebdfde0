/**
 * Whether the thread follows its end. Pure; the hook beside it moves the page.
 *
 *              any move up, or something opened by hand
 *   following ───────────────────────────────────────────▶ resting
 *             ◀───────────────────────────────────────────
 *              the person is at the end again, or asks for it
 *
 * A position that falls because the content became shorter, or the window taller, is no move of the person's.
 */
export interface ScrollMetrics {
  readonly top: number;
  /** Of all there is. */
  readonly height: number;
  /** Of what can be seen. */
  readonly visible: number;
}

/** With the measure as last seen. */
export interface StickToBottomState extends ScrollMetrics {
  readonly isAtBottom: boolean;
}

export type StickToBottomInput =
  /** The position changed. */
  | { readonly type: "scrolled"; readonly at: ScrollMetrics }
  /** The content changed; nobody moved. */
  | { readonly type: "resized"; readonly at: ScrollMetrics }
  /** A wheel, key or finger goes up, or something is opened by hand. */
  | { readonly type: "left" }
  | { readonly type: "to_end" };

/** Half pixels of zoomed pages don't count. */
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
      // However slowly: a finger moves by single pixels, and must not be pulled back for each of them.
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

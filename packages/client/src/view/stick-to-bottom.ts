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
export interface Measure {
  readonly top: number;
  /** Of all there is. */
  readonly height: number;
  /** Of what can be seen. */
  readonly visible: number;
}

/** With the measure as last seen. */
export interface Follow extends Measure {
  readonly isFollowing: boolean;
}

export type FollowInput =
  /** The position changed. */
  | { readonly type: "scrolled"; readonly at: Measure }
  /** The content changed; nobody moved. */
  | { readonly type: "resized"; readonly at: Measure }
  /** A wheel, key or finger goes up, or something is opened by hand. */
  | { readonly type: "left" }
  | { readonly type: "to_end" };

/** Half pixels of zoomed pages don't count. */
const SLACK = 2;
const HALF = 0.6;

export const FOLLOWING: Follow = { isFollowing: true, top: 0, height: 0, visible: 0 };

function isAtEnd({ top, height, visible }: Measure): boolean {
  return height - top - visible <= SLACK;
}

export function follow(
  state: Follow,
  input: FollowInput,
): { readonly state: Follow; readonly moveToEnd: boolean } {
  switch (input.type) {
    case "scrolled": {
      const { top, height, visible } = input.at;
      const isEnd = isAtEnd(input.at);
      const isPushed = height < state.height || visible > state.visible;
      // However slowly: a finger moves by single pixels, and must not be pulled back for each of them.
      const isUp = !isPushed && top < state.top - (isEnd ? HALF : 0);
      const isFollowing = !isUp && (isEnd || state.isFollowing);
      return { state: { isFollowing, ...input.at }, moveToEnd: false };
    }
    case "resized": {
      const isFollowing = state.isFollowing || isAtEnd(input.at);
      return { state: { isFollowing, ...input.at }, moveToEnd: state.isFollowing };
    }
    case "left":
      return { state: { ...state, isFollowing: false }, moveToEnd: false };
    case "to_end":
      return { state: { ...state, isFollowing: true }, moveToEnd: true };
  }
}

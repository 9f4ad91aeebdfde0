/**
 * Whether the thread follows its end. Pure; the hook beside it moves the page.
 *
 *              any move up, or something opened by hand
 *   following ───────────────────────────────────────────▶ resting
 *             ◀───────────────────────────────────────────
 *              the person is at the end again, or asks for it
 *
 * A position that falls because the content became shorter is no move of the person's.
 */
export interface Follow {
  readonly isFollowing: boolean;
  /** As last seen: how far down it is, and how tall all of it is. */
  readonly top: number;
  readonly height: number;
}

export interface Measure {
  readonly top: number;
  /** Of all there is. */
  readonly height: number;
  /** Of what can be seen. */
  readonly visible: number;
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

export const FOLLOWING: Follow = { isFollowing: true, top: 0, height: 0 };

function isAtEnd({ top, height, visible }: Measure): boolean {
  return height - top - visible <= SLACK;
}

export function follow(
  state: Follow,
  input: FollowInput,
): { readonly state: Follow; readonly moveToEnd: boolean } {
  switch (input.type) {
    case "scrolled": {
      const { top, height } = input.at;
      const isUp = top < state.top - SLACK && height >= state.height;
      const isFollowing = isAtEnd(input.at) || (state.isFollowing && !isUp);
      return { state: { isFollowing, top, height }, moveToEnd: false };
    }
    case "resized": {
      const { top, height } = input.at;
      const isFollowing = state.isFollowing || isAtEnd(input.at);
      return { state: { isFollowing, top, height }, moveToEnd: state.isFollowing };
    }
    case "left":
      return { state: { ...state, isFollowing: false }, moveToEnd: false };
    case "to_end":
      return { state: { ...state, isFollowing: true }, moveToEnd: true };
  }
}

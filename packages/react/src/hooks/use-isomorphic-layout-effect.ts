/**
 * `useIsomorphicLayoutEffect` is `useLayoutEffect` in a browser, and does nothing on a server.
 * Invariant: it never logs. React 18 logs a warning for every `useLayoutEffect` that a server renders.
 */
import { useEffect, useLayoutEffect } from "react";

export const useIsomorphicLayoutEffect = typeof document === "undefined" ? useEffect : useLayoutEffect;

/**
 * `Player` moves through the log: a slider, single steps, and playback at the original pace. Arrow keys step, Home and
 * End jump, and the space bar plays, except in a field or on a button.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { GalleryHandle } from "../stage/handle.ts";

/** Shortens long pauses, such as a user who decides after five minutes. */
const LONGEST_PAUSE_MS = 1500;

interface PlayerProps {
  readonly handle: GalleryHandle;
  readonly at: number;
  readonly onMove: (at: number) => void;
}

export function Player({ handle, at, onMove }: PlayerProps) {
  const { events, commands } = handle;
  const [isPlaying, setPlaying] = useState(false);
  const isOver = at >= events.length;
  const event = events[at - 1];
  const move = useRef(onMove);
  move.current = onMove;

  useEffect(() => {
    if (!isPlaying) return undefined;
    if (isOver) {
      setPlaying(false);
      return undefined;
    }
    const pause = (events[at]?.at ?? 0) - (events[at - 1]?.at ?? 0);
    const timer = setTimeout(() => move.current(at + 1), Math.max(0, Math.min(pause, LONGEST_PAUSE_MS)));
    return () => clearTimeout(timer);
  }, [isPlaying, isOver, at, events]);

  const toggle = (): void => {
    if (isOver && !isPlaying) onMove(0);
    setPlaying(!isPlaying);
  };
  const step = (to: number): void => {
    setPlaying(false);
    onMove(Math.max(0, Math.min(to, events.length)));
  };
  useKeys({
    ArrowLeft: () => step(at - 1),
    ArrowRight: () => step(at + 1),
    Home: () => step(0),
    End: () => step(events.length),
    " ": toggle,
  });

  const last = commands.at(-1);
  return (
    <footer className="g-player">
      <button type="button" aria-label="Previous event" onClick={() => step(at - 1)} disabled={at === 0}>
        ‹
      </button>
      <button type="button" className="g-play" onClick={toggle}>
        {isPlaying ? "Pause" : "Play"}
      </button>
      <button type="button" aria-label="Next event" onClick={() => step(at + 1)} disabled={isOver}>
        ›
      </button>
      <input
        type="range"
        aria-label="Position in the log"
        aria-valuetext={`event ${at} of ${events.length}`}
        min={0}
        max={events.length}
        value={at}
        onChange={({ target }) => step(Number(target.value))}
      />
      <output className="g-event">
        <b>{at}</b> / {events.length} <code>{event?.type ?? "before the first event"}</code>
      </output>
      {last !== undefined && (
        <output className="g-command" title={JSON.stringify(last.args)}>
          command <code>{last.name}</code>
        </output>
      )}
    </footer>
  );
}

function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  // A layout effect, so that keys work as soon as the player is visible.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTaken =
        event.target instanceof HTMLElement && event.target.closest("input, button, a, textarea");
      const run = isTaken ? undefined : latest.current[event.key];
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

/**
 * Shows one state on its own page with nothing but the components, for the gallery's frame and for tests. The URL
 * selects the state, and `window.gallery` controls it afterwards.
 */
import { preload } from "@turnstream/react";
import { StrictMode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { findState, STATES } from "../states/index.ts";
import { type Address, readAddress } from "./address.ts";
import type { Appearance, GalleryHandle, ReceivedCommand } from "./handle.ts";
import { moveTo, openPlayback, type Playback } from "./playback.ts";
import { StateView } from "./state-view.tsx";
import "@turnstream/react/styles.css";
import "./stage.css";

/** Waits for two frames, so that updates from effects are rendered too. */
async function nextFrames(): Promise<void> {
  for (let n = 0; n < 2; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
}

const now = (): number => Date.now();
const notifyShell = (): void => window.onGallery?.();

function mount(place: HTMLElement, address: Address): GalleryHandle {
  const root = createRoot(place);
  let appearance: Appearance = address;
  let commands: ReceivedCommand[] = [];
  let shown = 0;
  const onCommand = (command: ReceivedCommand): void => {
    commands = [...commands, command];
    notifyShell();
  };
  const fresh = (name: string, at: number | null): Playback => {
    const state = findState(name) ?? STATES[0];
    if (state === undefined) throw new Error("the gallery has no states");
    return openPlayback(state, at, { now, onCommand });
  };
  let playback = fresh(address.state, address.at);

  const draw = (): void => {
    const { documentElement: html } = document;
    html.dir = appearance.dir;
    html.lang = appearance.locale;
    if (appearance.theme === "auto") delete html.dataset["theme"];
    else html.dataset["theme"] = appearance.theme;
    html.dataset["shows"] = playback.state.shows ?? "turns";
    flushSync(() =>
      root.render(
        <StrictMode>
          <StateView key={shown} playback={playback} locale={appearance.locale} />
        </StrictMode>,
      ),
    );
  };
  const show = async (name: string, at: number | null): Promise<void> => {
    shown++;
    commands = [];
    playback = fresh(name, at);
    // Preload lazy parts, so that a state looks the same the first time.
    await preload();
    draw();
    await nextFrames();
    if (playback.live > 0) await handle.move(playback.at + playback.live);
    await playback.state.act?.(place);
    await nextFrames();
    document.documentElement.dataset["ready"] = name;
    notifyShell();
  };
  const handle: GalleryHandle = {
    states: STATES.map(({ name }) => name),
    show: (name, at) => show(name, at ?? null),
    async move(at) {
      playback = moveTo(playback, at, now());
      notifyShell();
      await nextFrames();
    },
    async setAppearance(next) {
      appearance = { ...appearance, ...next };
      draw();
      await nextFrames();
    },
    get commands() {
      return commands;
    },
    get name() {
      return playback.state.name;
    },
    get events() {
      return playback.events;
    },
    get at() {
      return playback.at;
    },
  };
  void show(address.state, address.at);
  return handle;
}

const place = document.getElementById("stage");
if (place !== null) window.gallery = mount(place, readAddress(location.search));

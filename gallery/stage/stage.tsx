/**
 * One state on its own page: nothing but what the components draw, for the gallery's frame and for tests. Told by its
 * address, and then by `window.gallery`.
 */
import { preload } from "@turnstream/react";
import { StrictMode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { findState, STATES } from "../states/index.ts";
import { type Address, readAddress } from "./address.ts";
import type { Dress, GalleryHandle, Heard } from "./handle.ts";
import { moveTo, open, type Play } from "./play.ts";
import { Scene } from "./scene.tsx";
import "@turnstream/react/styles.css";
import "./stage.css";

/** Twice, so that what effects ask for is drawn as well. */
async function settled(): Promise<void> {
  for (let n = 0; n < 2; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
}

const now = (): number => Date.now();
const tell = (): void => window.onGallery?.();

function mount(place: HTMLElement, address: Address): GalleryHandle {
  const root = createRoot(place);
  let dress: Dress = address;
  let heard: Heard[] = [];
  let shown = 0;
  const hear = (command: Heard): void => {
    heard = [...heard, command];
    tell();
  };
  const fresh = (name: string, at: number | null): Play => {
    const state = findState(name) ?? STATES[0];
    if (state === undefined) throw new Error("there are no states");
    return open(state, at, { now, hear });
  };
  let play = fresh(address.state, address.at);

  const draw = (): void => {
    const { documentElement: html } = document;
    html.dir = dress.dir;
    html.lang = dress.locale;
    if (dress.theme === "auto") delete html.dataset["theme"];
    else html.dataset["theme"] = dress.theme;
    html.dataset["shows"] = play.state.shows ?? "turns";
    flushSync(() =>
      root.render(
        <StrictMode>
          <Scene key={shown} play={play} locale={dress.locale} />
        </StrictMode>,
      ),
    );
  };
  const show = async (name: string, at: number | null): Promise<void> => {
    shown++;
    heard = [];
    play = fresh(name, at);
    // What is loaded later is there, so that a state is the same the first time.
    await preload();
    draw();
    await settled();
    if (play.live > 0) await handle.move(play.at + play.live);
    await play.state.act?.(place);
    await settled();
    document.documentElement.dataset["ready"] = name;
    tell();
  };
  const handle: GalleryHandle = {
    states: STATES.map(({ name }) => name),
    show: (name, at) => show(name, at ?? null),
    async move(at) {
      play = moveTo(play, at, now());
      tell();
      await settled();
    },
    async dress(next) {
      dress = { ...dress, ...next };
      draw();
      await settled();
    },
    get heard() {
      return heard;
    },
    get name() {
      return play.state.name;
    },
    get events() {
      return play.events;
    },
    get at() {
      return play.at;
    },
  };
  void show(address.state, address.at);
  return handle;
}

const place = document.getElementById("stage");
if (place !== null) window.gallery = mount(place, readAddress(location.search));

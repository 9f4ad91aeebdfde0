/** A viewer as people's apps are: whenever its connection is lost it comes back, to another gateway, with its last cursor. */
import type { Door } from "@turnstream/conformance/clients/connections.ts";
import type { Told } from "@turnstream/conformance/clients/rendered-state.ts";
import { START_CURSOR } from "@turnstream/protocol";
import { Viewer, type ViewerOptions } from "@turnstream/conformance/clients/viewer.ts";

const BACK_MS = 25;
/** How soon it looks for the next answer. */
const NEXT_MS = 200;

export class ReturningViewer {
  readonly viewer: Viewer;
  /** When it was told how it goes on. */
  readonly told: { readonly told: Told; readonly at: number }[] = [];
  returns = 0;
  readonly #doors: () => readonly Door[];
  #next: number;
  #isGone = false;

  /** @param first which of the doors it takes at first */
  constructor(
    options: Pick<ViewerOptions, "session" | "dialect" | "wire">,
    doors: () => readonly Door[],
    first: number,
  ) {
    this.#doors = doors;
    this.#next = first;
    this.viewer = new Viewer({
      ...options,
      onFrame: ({ type }) => {
        const told = type === "subscribed" ? this.viewer.screen.told.at(-1) : undefined;
        if (told !== undefined) this.told.push({ told, at: performance.now() });
      },
      onEnd: ({ type }) => {
        const isOver = type === "ended" && this.#isOfAnswers;
        setTimeout(
          () => {
            if (this.#isGone) return;
            if (!isOver) this.returns++;
            this.#connect();
          },
          isOver ? NEXT_MS : BACK_MS,
        );
      },
    });
    this.#connect();
  }

  leave(): void {
    this.#isGone = true;
    this.viewer.cut();
  }

  comeBack(): void {
    this.#isGone = false;
    this.#connect();
  }

  get #isOfAnswers(): boolean {
    return this.viewer.options.dialect === "responses";
  }

  #connect(): void {
    const doors = this.#doors();
    const door = doors[this.#next++ % doors.length];
    if (door === undefined) throw new Error("no gateway is left");
    // A follower of 002 has nothing to follow while no turn runs: it comes back, and must not miss the beginning.
    this.viewer.connect(door, this.viewer.screen.cursor ?? (this.#isOfAnswers ? START_CURSOR : null));
  }
}

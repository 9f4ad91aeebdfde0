/**
 * `Figures` counts what a scenario sees. Each figure is declared once, with the bounds that docs/reliability.md
 * promises, and its text is its name.
 */
import type { Figure } from "./scenario.ts";

export type Bounds = Omit<Figure, "figure" | "value">;

/** So many problems of one figure are printed. */
const MAX_PRINTED = 20;

export class Figures<Name extends string> {
  readonly #bounds: ReadonlyMap<Name, Bounds>;
  readonly #values = new Map<Name, number>();
  readonly #progress: (text: string) => void;

  constructor(progress: (text: string) => void, bounds: Readonly<Record<Name, Bounds>>) {
    this.#progress = progress;
    this.#bounds = new Map(Object.entries(bounds) as [Name, Bounds][]);
  }

  get(name: Name): number {
    return this.#values.get(name) ?? 0;
  }

  set(name: Name, value: number): void {
    this.#values.set(name, value);
  }

  add(name: Name, count = 1): void {
    this.set(name, this.get(name) + count);
  }

  /** Keeps the largest value. */
  raise(name: Name, value: number): void {
    this.set(name, Math.max(this.get(name), value));
  }

  /** Counts problems and prints the first ones. */
  report(name: Name, problems: readonly string[]): void {
    for (const problem of problems) {
      this.add(name);
      if (this.get(name) <= MAX_PRINTED) this.#progress(`${name}: ${problem}`);
    }
  }

  /** Prints how far the run is, and what it has counted. */
  print(about: string): void {
    const values = [...this.#values].map(([name, value]) => `${name}: ${Math.round(value)}`);
    this.#progress(`${about}; ${values.join("; ")}`);
  }

  list(): Figure[] {
    return [...this.#bounds].map(([figure, bounds]) => ({
      figure,
      value: Number(this.get(figure).toFixed(3)),
      ...bounds,
    }));
  }
}

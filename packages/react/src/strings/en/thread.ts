/** English, of the thread: turns, steps, composer, connection, what is announced. The other languages have its shape. */
export const thread = {
  working: "Working",
  steps: (n: number): string => (n === 1 ? "1 step" : `${n} steps`),
};

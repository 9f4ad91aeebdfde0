/** What people and commands call a form: an id that no other of the session has. Pure. */

/**
 * From the call that asks, so that whoever goes on after a death finds the same one.
 * @param nth which of its forms it is: a tool that waits for one may ask again
 */
export function formIdFor(turn: string, call: string, nth = 0): string {
  return `form_${turn}_${call}${nth === 0 ? "" : `.${nth}`}`;
}

/**
 * `formIdFor` returns the id of a form, unique in its session. Pure.
 *
 * Invariant: the same turn, call and number always give the same id, so a later attempt finds the form. The store and
 * clients keep ids, so the format must not change.
 */

/**
 * Derived from the call, so that a later attempt gets the same id.
 * @param nth number of the form within its call, because a tool that waits for a form can request another one
 */
export function formIdFor(turn: string, call: string, nth = 0): string {
  return `form_${turn}_${call}${nth === 0 ? "" : `.${nth}`}`;
}

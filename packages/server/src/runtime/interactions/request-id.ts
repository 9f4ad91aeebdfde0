/**
 * `formIdFor` and `paymentIdFor` return the id of a form or payment, unique in its session. Pure.
 *
 * Invariant: the same turn, call and number always give the same id, so a later attempt finds the request. The store
 * and clients keep ids, so the formats must not change.
 */

/**
 * Derived from the call, so that a later attempt gets the same id.
 * @param nth number of the form within its call, because a tool that waits for a form can request another one
 */
export function formIdFor(turn: string, call: string, nth = 0): string {
  return `form_${turn}_${call}${nth === 0 ? "" : `.${nth}`}`;
}

/** @param call the call that requests the payment, or its number in the turn if a stream agent requests it */
export function paymentIdFor(turn: string, call: string | number): string {
  return typeof call === "number" ? `pay_${turn}.${call}` : `pay_${turn}_${call}`;
}

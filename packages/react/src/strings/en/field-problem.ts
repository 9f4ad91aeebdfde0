/**
 * `fieldProblem` returns the English text for a problem of a form field.
 * Invariant: every problem has a text. The texts are loaded with the cards, so they don't slow down the first load.
 */
import type { FormProblem } from "@turnstream/protocol";

export const fieldProblem = ({ problem }: Pick<FormProblem, "problem">, { min, max }: Bounds): string =>
  ({
    required: "This field is required.",
    wrong_type: "This value is not valid here.",
    too_short: `At least ${min} characters.`,
    too_long: `At most ${max} characters.`,
    too_small: `At least ${min}.`,
    too_large: `At most ${max}.`,
    too_few: `Choose at least ${min}.`,
    too_many: `Choose at most ${max}.`,
    not_an_option: "Choose one of the options.",
    chosen_twice: "Choose each option only once.",
    not_an_email: "Enter an e-mail address, such as an@example.org.",
    not_a_phone: "Enter a phone number, such as +84 90 123 4567.",
    not_a_date: "Enter an existing date.",
    not_uploaded: "Upload the file again.",
    unknown_field: "The form has no such field.",
    not_an_object: "This can't be sent.",
  })[problem];

interface Bounds {
  /** Formatted for the locale. */
  readonly min: string;
  readonly max: string;
}

/**
 * `FORM_PROBLEMS` lists the problems that a form field can have, with their meaning. Constants only.
 * Invariant: the strings of every language have a text for each code; the meanings are for error messages of the
 * server. Only the server reports `not_uploaded`; a test requires that `checkForm` reports all others.
 */
export const FORM_PROBLEMS = {
  required: "a value is required (for a checkbox: it must be checked)",
  wrong_type: "the value has another type than the field",
  too_short: "the text has fewer characters than `min`",
  too_long: "the text has more characters than `max`",
  too_small: "the number is below `min`",
  too_large: "the number is above `max`",
  too_few: "fewer choices than `min`",
  too_many: "more choices than `max`",
  not_an_option: "a choice is not an option of the field",
  chosen_twice: "a choice was selected twice",
  not_an_email: "not a valid e-mail address",
  not_a_phone: "not a valid phone number",
  not_a_date: "not an existing date in the form YYYY-MM-DD",
  not_uploaded: "not a complete upload of this session (only the server can check this)",
  unknown_field: "the form has no such field",
  not_an_object: "the values are not an object (reported without a field)",
} as const;

export interface FormProblem {
  /** The name of the field; empty if the problem is about the values as a whole. */
  readonly field: string;
  readonly problem: keyof typeof FORM_PROBLEMS;
}

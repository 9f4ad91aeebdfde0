/** What can be wrong with a field of a form: the words, declared once, and what they mean. Values only. */
export const FORM_PROBLEMS = {
  required: "it has to be filled in (a checkbox: ticked)",
  wrong_type: "the value is of another type than the field",
  too_short: "the text has fewer characters than `min`",
  too_long: "the text has more characters than `max`",
  too_small: "the number is below `min`",
  too_large: "the number is above `max`",
  too_few: "fewer choices than `min`",
  too_many: "more choices than `max`",
  not_an_option: "a choice that the field doesn't have",
  chosen_twice: "the same choice twice",
  not_an_email: "no e-mail address",
  not_a_phone: "no phone number",
  not_a_date: "no date that exists, as YYYY-MM-DD",
  not_uploaded: "no complete upload of this session (only the server knows)",
  unknown_field: "the form has no such field",
  not_an_object: "the values are no object (of no field)",
} as const;

export interface FormProblem {
  /** The field's name; empty when it is about the values as a whole. */
  readonly field: string;
  readonly problem: keyof typeof FORM_PROBLEMS;
}

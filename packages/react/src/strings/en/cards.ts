/** English, of cards and content: approvals, questions, forms, payments, files, artifacts. The others have its shape. */
export const cards = {
  approve: "Approve",
};

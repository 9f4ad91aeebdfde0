/** Declares style sheets as modules that are imported for their side effects. */
declare module "*.css";

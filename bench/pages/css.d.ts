/** Styles are imported for their effect; what they hold is the bundler's matter. */
declare module "*.css";

/** Styles are imported for their effect; what they hold is the bundler's matter. */
/// <reference types="vite/client" />
declare module "*.css";

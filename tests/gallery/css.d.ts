/** Declares style sheets as modules that are imported for their side effects. */
/// <reference types="vite/client" />
declare module "*.css";

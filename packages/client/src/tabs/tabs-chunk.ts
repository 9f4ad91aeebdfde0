/** What sharing takes, as a file of its own: a page can be drawn before it is there. */
export { sharedLink } from "./tabs-transport.ts";

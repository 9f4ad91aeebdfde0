/** Where the interface is: every path begins with it. */
export const BASE = "/api/v1";

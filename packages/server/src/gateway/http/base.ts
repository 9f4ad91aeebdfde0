/** Where the interface is: every path begins with it. */
export const BASE = "/api/v1";
/** Behind it: where sockets are opened. */
export const SOCKET = "/socket";

/** The codes of sockets with which wires of other kinds say why they are over. Decides nothing. */

export const ENDED_QUIETLY = 1012;
export const LOST = 1006;
export const UNAUTHENTICATED = 4401;

/** The types between the client and a dialect. The client exports only `ClientDialect`, from which they follow. */
import type { ClientDialect } from "@turnstream/client";

export type DialectContext = Parameters<ClientDialect["connect"]>[0];
export type DialectConnection = ReturnType<ClientDialect["connect"]>;
export type Channel = ReturnType<DialectConnection["openChannel"]>;
export type ChannelEvents = Parameters<DialectConnection["openChannel"]>[1];
export type Frame = Parameters<ChannelEvents["onFrame"]>[0];

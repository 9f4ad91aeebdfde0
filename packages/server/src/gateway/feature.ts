/** `GatewayFeature` is what a feature adds to a gateway. Types only. */
import type { FeatureCommands } from "./command.ts";
import type { Route } from "./http/route.ts";
import type { StoreFeature } from "../store/features.ts";

export interface GatewayFeature extends StoreFeature {
  readonly routes?: readonly Route[];
  /** Commands of the protocol that are refused without the feature. */
  readonly commands?: FeatureCommands;
  /** Scopes of its routes, and whether a token of a user can have them. A key without scopes has all of them. */
  readonly scopes?: Readonly<Record<string, "keys" | "tokens">>;
  /** The types of its webhook events, such as `payment.refunded`. */
  readonly webhookEvents?: readonly string[];
}

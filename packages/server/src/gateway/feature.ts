/** `GatewayFeature` is what a feature adds to a gateway. Types only. */
import type { FeatureCommands } from "./command.ts";
import type { Route } from "./http/route.ts";
import type { StoreFeature } from "../store/features.ts";

export interface GatewayFeature extends StoreFeature {
  readonly routes?: readonly Route[];
  /** Commands of the protocol that are refused without the feature. */
  readonly commands?: FeatureCommands;
  /** Who can have the scope that is named like the feature: API keys only, or tokens of users too. @default no scope */
  readonly scope?: "keys" | "tokens";
  /** The types of its webhook events, such as `order.shipped`. */
  readonly webhookEvents?: readonly string[];
}

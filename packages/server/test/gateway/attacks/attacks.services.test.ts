/** Runs the contracts of attacks with two tenants on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { decisionAttacksContract } from "./decision-attacks.contract.ts";
import { foreignIdsContract } from "./foreign-ids.contract.ts";
import { shareLinksContract } from "./share-links.contract.ts";

foreignIdsContract("PostgreSQL and Redis", openRealBackend);
shareLinksContract("PostgreSQL and Redis", openRealBackend);
decisionAttacksContract("PostgreSQL and Redis", openRealBackend);

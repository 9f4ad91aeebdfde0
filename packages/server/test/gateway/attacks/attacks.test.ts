/** Runs the contracts of attacks with two tenants in one process. */
import { createMemoryBackend } from "../test-server.ts";
import { decisionAttacksContract } from "./decision-attacks.contract.ts";
import { foreignIdsContract } from "./foreign-ids.contract.ts";
import { shareLinksContract } from "./share-links.contract.ts";

const inMemory = async () => createMemoryBackend();
foreignIdsContract("memory", inMemory);
shareLinksContract("memory", inMemory);
decisionAttacksContract("memory", inMemory);

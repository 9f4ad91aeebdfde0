/** History and resources by HTTP, on PostgreSQL and Redis. */
import { realParts } from "../../runtime/real-backend.ts";
import { historyContract } from "./history.contract.ts";
import { resourcesContract } from "./resources.contract.ts";

historyContract("real servers", realParts);
resourcesContract("real servers", realParts);

/** Turns on real Redis and PostgreSQL, with DBOS as the engine. */
import { realParts } from "../real-backend.ts";
import { turnContract } from "./turns.contract.ts";

turnContract(realParts);

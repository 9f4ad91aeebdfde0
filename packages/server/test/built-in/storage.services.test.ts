/** The same on real servers. */
import { realParts } from "../runtime/real-parts.ts";
import { storageContract } from "./storage.contract.ts";

storageContract(realParts);

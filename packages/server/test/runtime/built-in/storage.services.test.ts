/** The same on real servers. */
import { realParts } from "../real-backend.ts";
import { storageContract } from "./storage.contract.ts";

storageContract(realParts);

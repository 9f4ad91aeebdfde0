/** The contract of what is kept beside the log, on real servers. */
import { realParts } from "../real-backend.ts";
import { picturesContract } from "./images.contract.ts";

picturesContract("real", realParts);

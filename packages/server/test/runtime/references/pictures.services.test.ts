/** The contract of what is kept beside the log, on real servers. */
import { realParts } from "../real-parts.ts";
import { picturesContract } from "./pictures.contract.ts";

picturesContract("real", realParts);

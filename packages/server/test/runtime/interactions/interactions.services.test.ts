/** What people are asked in a turn, on PostgreSQL, Redis and DBOS. */
import { approvalContract } from "./approvals.contract.ts";
import { atOnceContract } from "../tool-calls/parallel-calls.contract.ts";
import { formContract } from "./forms.contract.ts";
import { formInsideContract } from "./forms-in-tools.contract.ts";
import { questionContract } from "./questions.contract.ts";
import { realParts } from "../real-backend.ts";

approvalContract(realParts);
questionContract(realParts);
formContract(realParts);
formInsideContract(realParts);
atOnceContract(realParts);
